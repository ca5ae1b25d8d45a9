// Looks after a child between its creation and its exec, while the launching thread sleeps in the kernel
// until the child lets it go (spawn_linux.cc): a child that somebody stops there, or whose exec waits for a
// file that does not come, would hold that thread, and with it the lane's close, for as long as it likes.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"

namespace anelane::worker {

class SpawnWatch {
 public:
  // From now on, until its destructor. `abort` may be null.
  static Result<std::unique_ptr<SpawnWatch>> start(uint64_t deadline_ns, const std::atomic<bool>* abort);
  ~SpawnWatch();
  SpawnWatch(const SpawnWatch&) = delete;
  SpawnWatch& operator=(const SpawnWatch&) = delete;

  // Where the kernel writes the handle on the child, before the child does anything.
  int* handle() { return &handle_; }
  // No kill goes out after this. True: one went out, and the child is gone or about to be.
  bool stop();

 private:
  SpawnWatch(uint64_t deadline_ns, const std::atomic<bool>* abort)
      : deadline_ns_(deadline_ns), abort_(abort) {}
  void watch();

  const uint64_t deadline_ns_;
  const std::atomic<bool>* const abort_;
  int handle_ = -1;  // written by the kernel, read with __atomic_load_n
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;    // guarded by mutex_
  bool killed_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace anelane::worker
