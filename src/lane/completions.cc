// Invariant: the pipe holds exactly one byte while the queue is not empty, so the descriptor is readable
// exactly then. The completion thread only runs user callbacks; a callback that blocks delays other
// callbacks, never a timer or a decision.
#include "lane/completions.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/quiet_thread.h"
#include "lane/operation.h"

namespace anelane {
namespace {
thread_local bool t_in_callback = false;
}

Result<std::unique_ptr<Completions>> Completions::create() {
  std::unique_ptr<Completions> self(new Completions);
  int ends[2];
#ifdef __APPLE__
  if (::pipe(ends) != 0) return io_error("create", "the completion pipe", errno);
  for (int end : ends) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
#else
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return io_error("create", "the completion pipe", errno);
#endif
  self->event_read_ = UniqueFd(ends[0]);
  self->event_write_ = UniqueFd(ends[1]);
  return self;
}

Completions::~Completions() {
  stop();
}

bool Completions::in_callback() {
  return t_in_callback;
}

Status Completions::ensure_thread() {
  std::lock_guard lock(mutex_);
  if (stopping_) return error(Code::kClosed, "the lane is closed; open it again");
  if (thread_.joinable()) return {};
  auto thread = start_quiet_thread([this] { serve(); });
  if (!thread.ok()) return std::move(thread).status();
  thread_ = std::move(*thread);
  return {};
}

void Completions::call(std::function<void()> call) {
  add({nullptr, std::move(call)});
}

void Completions::tell(std::shared_ptr<Operation> op) {
  add({std::move(op), nullptr});
}

void Completions::add(Call call) {
  std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  if (batches_ == 0) wake_.notify_one();
}

Completions::Batch::Batch(Completions& completions) : completions_(completions) {
  std::lock_guard lock(completions_.mutex_);
  ++completions_.batches_;
}

Completions::Batch::~Batch() {
  std::lock_guard lock(completions_.mutex_);
  --completions_.batches_;
  completions_.wake_.notify_one();
}

uint64_t Completions::queue(std::shared_ptr<Operation> op) {
  std::lock_guard lock(mutex_);
  if (!event_write_) return 0;
  queued_.emplace(++last_number_, std::move(op));
  if (queued_.size() == 1) (void)!::write(event_write_.get(), "x", 1);
  return last_number_;
}

void Completions::mark_empty() {
  char byte;
  if (queued_.empty() && event_read_) (void)!::read(event_read_.get(), &byte, 1);
}

void Completions::forget(uint64_t number) {
  std::shared_ptr<Operation> gone;  // freed outside the lock
  std::lock_guard lock(mutex_);
  const auto it = queued_.find(number);
  if (it == queued_.end()) return;
  gone = std::move(it->second);
  queued_.erase(it);
  mark_empty();
}

std::shared_ptr<Operation> Completions::take() {
  std::lock_guard lock(mutex_);
  if (queued_.empty()) return nullptr;
  std::shared_ptr<Operation> op = std::move(queued_.begin()->second);
  queued_.erase(queued_.begin());
  mark_empty();
  return op;
}

void Completions::stop() {
  std::thread thread;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
  // What nobody has fetched goes, outside the lock: operations hold the lane, and the lane holds this.
  std::map<uint64_t, std::shared_ptr<Operation>> unfetched;
  std::lock_guard lock(mutex_);
  unfetched.swap(queued_);
  event_read_.reset();
  event_write_.reset();
}

void Completions::serve() {
  t_in_callback = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
    if (calls_.empty()) return;  // stopping, and everything has been said
    std::deque<Call> now;        // all that there is, so that ten thousand ends take the lock once
    now.swap(calls_);
    lock.unlock();
    for (Call& next : now) {
      if (next.op)
        next.op->tell();
      else
        next.call();
      next = {};  // what it owned goes before the next one runs
    }
    lock.lock();
  }
}

}  // namespace anelane
