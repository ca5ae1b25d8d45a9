// The descriptors stay open until this object goes, so that a caller's thread that is in the middle of a
// system call never meets a descriptor of somebody else; breaking off only shuts the socket down.
#include "lane/worker_stream.h"

#include <utility>

namespace anelane {

WorkerStream::WorkerStream(std::unique_ptr<worker::WorkerHandle> handle, std::shared_ptr<worker::Arena> arena,
                           uint64_t bay_bytes, sched::Generation generation)
    : handle_(std::move(handle)),
      arena_(std::move(arena)),
      bay_bytes_(bay_bytes),
      generation_(generation),
      last_request_(uint64_t{generation} << 32) {
  bay_users_.resize(arena_->size() / bay_bytes_, 0);
}

bool WorkerStream::try_take_for_caller() {
  std::lock_guard lock(mutex_);
  if (broken_ || holder_ != Holder::kNone || loop_wake_) return false;
  holder_ = Holder::kCaller;
  ++turns_;
  return true;
}

uint64_t WorkerStream::callers_turn() const {
  std::lock_guard lock(mutex_);
  return holder_ == Holder::kCaller ? turns_ : 0;
}

bool WorkerStream::take_for_loop(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  if (broken_) return false;
  if (holder_ == Holder::kNone) {
    holder_ = Holder::kLoop;
    return true;
  }
  loop_wake_ = std::move(wake);
  return false;
}

void WorkerStream::forget_loop_request() {
  std::lock_guard lock(mutex_);
  loop_wake_ = nullptr;
}

void WorkerStream::give_back() {
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    const bool by_caller = std::exchange(holder_, Holder::kNone) == Holder::kCaller;
    wake.swap(loop_wake_);
    if (!wake && by_caller) wake = idle_wake_;
  }
  if (wake) wake();
}

void WorkerStream::tell_idle(std::function<void()> fn) {
  std::lock_guard lock(mutex_);
  idle_wake_ = std::move(fn);
}

bool WorkerStream::idle() const {
  std::lock_guard lock(mutex_);
  return holder_ == Holder::kNone && !loop_wake_;
}

void WorkerStream::break_off() {
  std::lock_guard lock(mutex_);
  broken_ = true;
  loop_wake_ = nullptr;
  handle_->shut_streams();
}

bool WorkerStream::broken() const {
  std::lock_guard lock(mutex_);
  return broken_;
}

int32_t WorkerStream::borrow_bay() {
  std::lock_guard lock(mutex_);
  for (size_t i = 1; i < bay_users_.size(); ++i) {
    if (bay_users_[i] != 0) continue;
    bay_users_[i] = 1;
    return static_cast<int32_t>(i);
  }
  return -1;
}

bool WorkerStream::hold_bay(int32_t bay) {
  std::lock_guard lock(mutex_);
  const auto i = static_cast<size_t>(bay);
  if (bay < 1 || i >= bay_users_.size() || bay_users_[i] == 0) return false;
  ++bay_users_[i];
  return true;
}

void WorkerStream::return_bay(int32_t bay) {
  std::lock_guard lock(mutex_);
  const auto i = static_cast<size_t>(bay);
  if (bay >= 1 && i < bay_users_.size() && bay_users_[i] > 0) --bay_users_[i];
}

}  // namespace anelane
