// Which worker the library would start, for the one command that starts it itself.
#pragma once
#include <string>

namespace anelane_tool {

// Absolute path, or "" with *tried naming the places that were looked at. The library's own rule (worker_path
// in anelane.h): ANELANE_WORKER, beside the library, ../libexec/anelane, an application's Helpers.
std::string find_worker(std::string* tried);

}  // namespace anelane_tool
