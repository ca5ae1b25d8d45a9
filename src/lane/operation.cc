// The end is published under the mutex (waiters), then announced to the completion side. The lane keeps a
// reference to every running operation, so dropping the last handle never frees one in flight.
#include "lane/operation.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "lane/lane.h"

namespace anelane {

Operation::Operation(std::shared_ptr<Lane> lane, uint64_t deadline_ns)
    : lane_(std::move(lane)), deadline_ns_(deadline_ns) {}

Operation::~Operation() = default;

void Operation::announce(DoneFn fn, void* user, uint64_t op_bits) {
  fn_ = std::move(fn);
  user_ = user;
  bits_ = op_bits;
  announced_ = true;
}

bool Operation::start() {
  return lane_->loop().post([self = shared_from_this()] {
    if (!self->lane_->enter_operation(self)) return self->finish(self->lane_->closed_status());
    self->begun_ = true;
    self->begin();
    if (self->unwanted_ && !self->ended()) self->on_cancel();
  });
}

void Operation::cancel_now() {
  unwanted_ = true;
  if (begun_ && !ended()) on_cancel();
}

bool Operation::late() const {
  return deadline_ns_ != UINT64_MAX && now_ns() >= deadline_ns_;
}

bool Operation::wait(uint64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return ended_.load(std::memory_order_relaxed); };
  if (deadline_ns == UINT64_MAX) {
    ended_cv_.wait(lock, done);
    return true;
  }
  while (!done()) {
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    ended_cv_.wait_for(lock,
                       std::chrono::nanoseconds(std::min<uint64_t>(deadline_ns - now, 3'600'000'000'000u)));
  }
  return true;
}

void Operation::on_close() {
  finish(lane_->closed_status());
}

void Operation::finish(Status status) {
  if (ended()) return;
  auto self = shared_from_this();
  {
    std::lock_guard lock(mutex_);
    status_ = std::move(status);
    ended_.store(true, std::memory_order_release);
    ended_cv_.notify_all();
    if (announced_ && !fn_ && !dropped_) queued_ = lane_->completions().queue(self);
  }
  lane_->leave_operation(this);
  if (!announced_ || !fn_) return;
  lane_->completions().tell(std::move(self));
}

void Operation::drop() {
  uint64_t queued = 0;
  {
    std::lock_guard lock(mutex_);
    dropped_ = true;
    queued = queued_;
  }
  if (queued != 0) lane_->completions().forget(queued);
}

}  // namespace anelane
