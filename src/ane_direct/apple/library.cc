// dlopen and dlsym with errors as values. On macOS system libraries have no file of their own (they lie in
// the shared cache), so a path is never looked at before it is opened. Threads: any.
#include "ane_direct/apple/library.h"

#include <dlfcn.h>

namespace anelane::apple {

Result<Library> Library::open(const std::string& path) {
  Library library;
  library.path_ = path;
  library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ != nullptr) return library;
  const char* why = ::dlerror();
  return error(Code::kEngineUnavailable,
               "cannot open " + path + ": " + (why != nullptr ? why : "the loader gives no reason"));
}

void* Library::find(const char* symbol) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

Status Library::missing(const char* symbol) const {
  return error(Code::kEngineUnavailable,
               path_ + " has no " + symbol + ": this system's version is not known");
}

}  // namespace anelane::apple
