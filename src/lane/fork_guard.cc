// The child handler runs between fork and the first line of the child, where only async-signal-safe calls are
// allowed: the registry is a fixed array of atomics, and the handler only calls close(). The library is never
// unloaded (-z nodelete), so the handler cannot dangle.
#include "lane/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

namespace anelane::fork_guard {
namespace {

constexpr size_t kMaxFds = 4096;                // lock, stream, control, log and exit handle of 800 workers
std::array<std::atomic<int>, kMaxFds> g_fds{};  // fd + 1; 0 = free
std::atomic<bool> g_forked{false};
std::once_flag g_once;

void in_child() {
  for (std::atomic<int>& entry : g_fds) {
    const int fd = entry.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) ::close(fd);
  }
  g_forked.store(true, std::memory_order_relaxed);
}

}  // namespace

void install() {
  std::call_once(g_once, [] { pthread_atfork(nullptr, nullptr, in_child); });
}

bool forked() {
  return g_forked.load(std::memory_order_relaxed);
}

Status check() {
  if (!forked()) return {};
  return error(
      Code::kForked,
      "this process was forked from one that uses the lane: call exec, or use the lane in the parent only");
}

void enter(int fd) {
  if (fd < 0) return;
  for (std::atomic<int>& entry : g_fds) {
    int free = 0;
    if (entry.compare_exchange_strong(free, fd + 1, std::memory_order_relaxed)) return;
  }
}

void leave(int fd) {
  if (fd < 0) return;
  for (std::atomic<int>& entry : g_fds) {
    int held = fd + 1;
    if (entry.compare_exchange_strong(held, 0, std::memory_order_relaxed)) return;
  }
}

}  // namespace anelane::fork_guard
