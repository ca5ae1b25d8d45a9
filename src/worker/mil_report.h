// What can be said of one program without a lane: for anelane_mil_check and the tool.
#pragma once
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace anelane::worker {

// Reads the text and, unless its path is "", the weight file. IO and nothing else is an error: what is wrong
// with the program is in the report.
Result<Json> mil_report(const std::string& mil_path, const std::string& weights_path);

}  // namespace anelane::worker
