// After fork() the child must not touch the lane: its copies of lock and streams are closed there at once,
// and every call answers FORKED. One registry for the process. Any thread.
//
// A fork of another thread may fall between the making of a descriptor and its entry here. Forks are never
// made to wait for that: they are counted, and what was made across one is dropped and made again (unforked).
#pragma once

#include <atomic>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace anelane::fork_guard {

void install();  // idempotent; registers the fork handlers
extern std::atomic<bool> g_forked;
// True in a child of a process that used the library.
inline bool forked() {
  return g_forked.load(std::memory_order_relaxed);
}
Status check();  // FORKED in such a child, with advice

// A descriptor that every forked child closes before it runs its first line.
class Fd {
 public:
  Fd() = default;
  explicit Fd(UniqueFd fd);
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::move(other.fd_)), entered_(std::exchange(other.entered_, false)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::move(other.fd_);
      entered_ = std::exchange(other.entered_, false);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  explicit operator bool() const { return valid(); }
  void reset();
  // The descriptor alone, which forked children keep from now on.
  UniqueFd release();

 private:
  UniqueFd fd_;
  bool entered_ = false;
};

class ForkCount {
 public:
  ForkCount();             // waits (bounded) while a fork is under way
  bool unchanged() const;  // no fork has begun since
 private:
  unsigned begun_;
};

// What `make` returns (a Result of something that holds Fds), made while nobody forked.
template <class Make>
auto unforked(Make&& make) {
  constexpr int kTries = 20;  // a host that forks without pause gets what there is
  for (int tries = 1;; ++tries) {
    const ForkCount forks;
    auto made = make();
    if (!made.ok() || forks.unchanged() || tries == kTries) return made;
  }
}

}  // namespace anelane::fork_guard
