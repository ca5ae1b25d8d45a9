// Compile, load, unload and purge happen one at a time in the process, also when several workers are its
// threads. Recursive: a load that fails halfway unloads.
#pragma once
#include <mutex>

namespace anelane::apple {

class LifecycleLock {
 public:
  LifecycleLock() : lock_(mutex()) {}

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex one;
    return one;
  }
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace anelane::apple
