// The child handler runs between fork and the first line of the child, where only async-signal-safe calls are
// allowed: the registry is a fixed array of atomics, and the handler only calls close(). The library is never
// unloaded (stay_loaded.h), so the handlers cannot dangle.
#include "base/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <mutex>

#include "base/stay_loaded.h"

namespace anelane::fork_guard {

std::atomic<bool> g_forked{false};

namespace {

constexpr size_t kMaxFds = 4096;  // lock, stream, control, log and exit handle of 800 workers
constexpr int kYields = 1000;
constexpr int kSleeps = 1000;  // of a tenth of a millisecond: a fork of a large host takes long
std::array<std::atomic<int>, kMaxFds> g_fds{};  // fd + 1; 0 = free
std::atomic<unsigned> g_begun{0};               // forks, each counted before it happens
std::atomic<unsigned> g_ended{0};
std::once_flag g_once;

void before_fork() {
  g_begun.fetch_add(1);
}
void in_parent() {
  g_ended.fetch_add(1);
}
void in_child() {
  for (std::atomic<int>& entry : g_fds) {
    const int fd = entry.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) ::close(fd);
  }
  g_forked.store(true, std::memory_order_relaxed);
}

bool enter(int fd) {
  for (std::atomic<int>& entry : g_fds) {
    int free = 0;
    if (entry.load(std::memory_order_relaxed) == 0 && entry.compare_exchange_strong(free, fd + 1))
      return true;
  }
  return false;
}

// False: it is not entered (any more): in a forked child it has been closed, and the number may be another's.
bool leave(int fd) {
  for (std::atomic<int>& entry : g_fds) {
    int held = fd + 1;
    if (entry.load(std::memory_order_relaxed) == held && entry.compare_exchange_strong(held, 0)) return true;
  }
  return false;
}

// A fork between leaving the registry and closing would keep what the descriptor stands for, and closing
// first could make the child close whatever gets the number next. So something harmless takes its place.
void put_nothing_in(int fd) {
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return;
#ifdef __APPLE__
  ::dup2(nothing.get(), fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
#else
  ::dup3(nothing.get(), fd, O_CLOEXEC);
#endif
}

}  // namespace

void install() {
  std::call_once(g_once, [] {
    stay_loaded();
    pthread_atfork(before_fork, in_parent, in_child);
  });
}

Status check() {
  if (!forked()) return {};
  return error(
      Code::kForked,
      "this process was forked from one that uses the lane: call exec, or use the lane in the parent only");
}

Fd::Fd(UniqueFd fd) : fd_(std::move(fd)), entered_(fd_.valid() && enter(fd_.get())) {}

void Fd::reset() {
  if (entered_ && !forked()) {
    put_nothing_in(fd_.get());
    // A fork copies descriptors first and memory later: one that is under way may have copied the descriptor
    // and must still find it in the registry.
    (void)ForkCount();
  }
  if (entered_ && !leave(fd_.get())) (void)fd_.release();
  entered_ = false;
  fd_.reset();
}

UniqueFd Fd::release() {
  if (entered_ && !leave(fd_.get())) (void)fd_.release();
  entered_ = false;
  return std::move(fd_);
}

ForkCount::ForkCount() : begun_(g_begun.load()) {
  for (int i = 0; i < kYields + kSleeps && g_ended.load() != begun_; ++i) {
    if (i < kYields) {
      ::sched_yield();
    } else {
      const timespec moment{0, 100'000};
      ::nanosleep(&moment, nullptr);
    }
    begun_ = g_begun.load();
  }
}

bool ForkCount::unchanged() const {
  return g_begun.load() == begun_ && g_ended.load() == begun_;
}

}  // namespace anelane::fork_guard
