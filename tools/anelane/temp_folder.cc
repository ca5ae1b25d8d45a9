// In the temp folder of the system, with a name that nobody else has. A process that is killed leaves it
// behind.
#include "temp_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace anelane_tool {

TempFolder::TempFolder(const char* prefix) {
  std::error_code failed;
  path_ = (std::filesystem::temp_directory_path(failed) / (std::string(prefix) + "-XXXXXX")).string();
  if (failed || ::mkdtemp(path_.data()) == nullptr) path_.clear();
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace anelane_tool
