// One short-lived thread beside the one that launches. It sleeps until the spawn is over, the deadline, or,
// where there is an abort to look at, the next look at it; then it kills through the handle, which the kernel
// stored in our memory before the child's first step. Between the store and the moment at which the
// descriptor can be used nobody else can have its number: the kill then reaches nobody (EBADF) and is
// repeated.
//
// States: watching → killing → over, or watching → over. The owner says over, and closes the handle only
// after that: a kill never reaches a stranger.
#ifndef __APPLE__
#include "worker/spawn_watch.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"

namespace anelane::worker {
namespace {

constexpr uint64_t kLookNs = 20'000'000;
constexpr uint64_t kLongestNs = 3'600'000'000'000;  // what every clock's arithmetic can take

}  // namespace

Result<std::unique_ptr<SpawnWatch>> SpawnWatch::start(uint64_t deadline_ns, const std::atomic<bool>* abort) {
  std::unique_ptr<SpawnWatch> watch(new SpawnWatch(deadline_ns, abort));
  ANELANE_ASSIGN(watch->thread_, start_quiet_thread([raw = watch.get()] { raw->watch(); }));
  return watch;
}

SpawnWatch::~SpawnWatch() {
  stop();
}

bool SpawnWatch::stop() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  return killed_;
}

void SpawnWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    const uint64_t now = now_ns();
    const bool due = now >= deadline_ns_ || (abort_ != nullptr && abort_->load());
    const int handle = __atomic_load_n(&handle_, __ATOMIC_ACQUIRE);
    if (due && handle >= 0 && syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0)
      killed_ = true;
    const uint64_t left = now < deadline_ns_ ? deadline_ns_ - now : kLookNs;
    changed_.wait_for(lock,
                      std::chrono::nanoseconds(std::min(left, abort_ != nullptr ? kLookNs : kLongestNs)));
  }
}

}  // namespace anelane::worker
#endif
