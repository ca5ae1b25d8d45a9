// The library's file is found by the address of one of its functions. No state.
#include "find_worker.h"

#include <anelane.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace anelane_tool {
namespace {

namespace fs = std::filesystem;

bool can_be_started(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

fs::path library_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&anelane_version), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

}  // namespace

std::string find_worker(std::string* tried) {
  constexpr const char* kName = "anelane-worker";
  std::error_code ignored;
  if (const char* named = std::getenv("ANELANE_WORKER"); named != nullptr && named[0] != '\0') {
    *tried = std::string(named) + " (named by ANELANE_WORKER)";
    return can_be_started(named) ? fs::absolute(named, ignored).string() : std::string();
  }
  const fs::path folder = library_folder();
  if (folder.empty()) return {};
  const fs::path above = folder.parent_path();
  for (const fs::path& place : {folder / kName, above / "libexec/anelane" / kName,
                                above.parent_path() / "libexec/anelane" / kName, above / "Helpers" / kName}) {
    if (can_be_started(place)) return place.string();
    *tried += (tried->empty() ? "" : ", ") + place.string();
  }
  return {};
}

}  // namespace anelane_tool
