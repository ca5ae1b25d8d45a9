// Where the worker executable is: the option, ANELANE_WORKER, or a place beside the library. What the user
// named is used or refused, never passed over. PATH is never searched: it is not the library's business, and
// in a set-id process it would be an attack.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <vector>

#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

constexpr const char* kName = "anelane-worker";

// nullptr in a process that runs with more rights than its user has.
const char* trusted_variable(const char* name) {
#ifdef __APPLE__
  return ::issetugid() != 0 ? nullptr : std::getenv(name);
#else
  return ::secure_getenv(name);
#endif
}

// "" when `path` can be started; else why not.
std::string why_not(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return errno_text(errno);
  if (!S_ISREG(st.st_mode)) return "not a regular file";
  if (::access(path.c_str(), X_OK) != 0) return "not executable";
  return {};
}

std::string parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string("/") : path.substr(0, slash);
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : std::string();
}

// The folder of the file that this code was loaded from, links resolved; "" when it cannot be told.
std::string own_folder() {
  Dl_info info{};
  static const char anchor = 0;
  if (::dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string file = resolved(info.dli_fname);
#ifndef __APPLE__
  // In a program that has us linked in, dli_fname is argv[0], which may be anything.
  if (file.empty() || info.dli_fname[0] != '/') file = resolved("/proc/self/exe");
#endif
  return file.empty() ? std::string() : parent(file);
}

std::vector<std::string> places_beside(const std::string& folder) {
  std::vector<std::string> places{join_path(folder, kName),
                                  join_path(parent(folder), "libexec/anelane/") + kName};
  // lib/<machine>/ of distributions with several architectures: ../ of lib, not of lib/<machine>.
  if (parent(folder).ends_with("/lib"))
    places.push_back(join_path(parent(parent(folder)), "libexec/anelane/") + kName);
  places.push_back(join_path(parent(folder), "Helpers/") +
                   kName);  // Contents/Helpers of an application bundle
  return places;
}

Result<std::string> named_worker(const std::string& path, const std::string& by) {
  std::string absolute = path;
  if (path[0] != '/') {
    absolute = resolved(path);
    if (absolute.empty()) absolute = path;
  }
  const std::string why = why_not(absolute);
  if (why.empty()) return absolute;
  return error(Code::kEngineUnavailable,
               "the worker executable " + path + " named by " + by + " cannot be used: " + why);
}

}  // namespace

Result<std::string> find_worker_executable(const std::string& option) {
  if (!option.empty()) return named_worker(option, "the option");
  const char* variable = trusted_variable("ANELANE_WORKER");
  if (variable != nullptr && variable[0] != '\0') return named_worker(variable, "ANELANE_WORKER");
  std::string tried;
  const std::string folder = own_folder();
  if (!folder.empty()) {
    for (const std::string& place : places_beside(folder)) {
      const std::string why = why_not(place);
      if (why.empty()) return place;
      tried += (tried.empty() ? "" : ", ") + place + " (" + why + ")";
    }
  }
  return error(Code::kEngineUnavailable,
               "there is no worker executable: install anelane-worker beside the library, or name it in "
               "worker_path or "
               "ANELANE_WORKER. Tried " +
                   (tried.empty() ? std::string("nothing") : tried));
}

}  // namespace anelane::worker
