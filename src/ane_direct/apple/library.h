// A shared library opened at run time, and its symbols as typed pointers.
#pragma once
#include <string>

#include "base/status.h"

namespace anelane::apple {

class Library {
 public:
  Library() = default;
  // Never closed again. ENGINE_UNAVAILABLE names the library and the loader's reason.
  static Result<Library> open(const std::string& path);
  void* find(const char* symbol) const;  // nullptr: none
  // ENGINE_UNAVAILABLE names library and symbol.
  template <class T>
  Status need(const char* symbol, T* into) const {
    void* found = find(symbol);
    if (found == nullptr) return missing(symbol);
    *into = reinterpret_cast<T>(found);
    return {};
  }

 private:
  Status missing(const char* symbol) const;
  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace anelane::apple
