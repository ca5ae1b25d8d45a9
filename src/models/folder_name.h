// What to call a model that was given no name.
#pragma once
#include <filesystem>
#include <string>

namespace anelane {

// Last component of the path, also with slashes at its end.
inline std::string folder_name(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace anelane
