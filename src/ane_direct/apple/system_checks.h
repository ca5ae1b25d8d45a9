// What a doctor asks about this system's framework before an engine is made of it: one question each, so that
// the first one that is answered with an error names the trouble. Nothing private is called.
#pragma once
#include <string>

#include "ane_direct/apple/apple_engine.h"
#include "base/status.h"

namespace anelane::apple {

// Each says what it found. ENGINE_UNAVAILABLE: what is missing or changed, all of it.
Result<std::string> check_staging_folder(const AppleEngineOptions& options);  // TMPDIR
Result<std::string> check_framework(const FrameworkPaths& paths);             // that the libraries open
Result<std::string> check_classes(const FrameworkPaths& paths);
Result<std::string> check_encodings(const FrameworkPaths& paths);

}  // namespace anelane::apple
