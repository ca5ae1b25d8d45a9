// A folder that goes away with everything in it.
#pragma once
#include <string>

namespace anelane_tool {

class TempFolder {
 public:
  explicit TempFolder(const char* prefix);  // "anelane-selftest": which command it is of
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }  // "" when it could not be made; errno says why

 private:
  std::string path_;
};

}  // namespace anelane_tool
