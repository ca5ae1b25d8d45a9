// No state. Threads: any; the environment is the host's, and read once by the caller.
#include "ane_direct/apple/temp_folder.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

namespace anelane::apple {
namespace {

#ifdef __APPLE__
std::string darwin_folder(int name) {
  char path[PATH_MAX];
  const size_t size = ::confstr(name, path, sizeof path);
  return size == 0 || size > sizeof path ? std::string() : std::string(path);
}
#endif

std::string canonical(std::string path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) != nullptr) return resolved;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

#ifdef __APPLE__
std::string user_temp_folder() {
  return darwin_folder(_CS_DARWIN_USER_TEMP_DIR);
}
std::string user_cache_folder() {
  return darwin_folder(_CS_DARWIN_USER_CACHE_DIR);
}
#else
std::string user_temp_folder() {
  return {};
}
std::string user_cache_folder() {
  return {};
}
#endif

bool same_folder(const std::string& a, const std::string& b) {
  return canonical(a) == canonical(b);
}

Status check_tmpdir(const char* tmpdir, const std::string& expected) {
  if (tmpdir == nullptr || same_folder(tmpdir, expected)) return {};
  return error(Code::kEngineUnavailable, std::string("TMPDIR is \"") + tmpdir +
                                             "\", and the compiler's service only takes programs that are "
                                             "staged in " +
                                             expected + ": unset TMPDIR, or set it to that folder");
}

}  // namespace anelane::apple
