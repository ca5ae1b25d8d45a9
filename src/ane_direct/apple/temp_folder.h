// The user's temp folder, where the framework looks for staged programs, and whether this process may stage.
#pragma once
#include <string>

#include "base/status.h"

namespace anelane::apple {

// What the system calls the user's temp folder (Darwin's confstr); "" elsewhere.
std::string user_temp_folder();
// The user's cache folder in the same way.
std::string user_cache_folder();
// TMPDIR must be unset or name `expected`: the service that compiles does not see another one, and refuses.
// ENGINE_UNAVAILABLE says what to do.
Status check_tmpdir(const char* tmpdir, const std::string& expected);
// Do two paths name one folder? Slashes at the end and symbolic links on the way do not count.
bool same_folder(const std::string& a, const std::string& b);

}  // namespace anelane::apple
