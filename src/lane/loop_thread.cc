// States: accepting (post works) → stopping (tasks posted before still run) → ended. The async handle is sent
// to only under the mutex while accepting, so no sender can meet a closed handle (libuv issue 4922's kind).
// Timers are an ordered map behind one libuv timer: their number does not matter and cancelling is cheap.
#include "lane/loop_thread.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/quiet_thread.h"

namespace anelane {
namespace {

Status uv_failed(const char* doing, int rc) {
  return error(Code::kIo, std::string("cannot ") + doing + ": " + errno_text(-rc))
      .with_class(is_shortage(-rc));
}

}  // namespace

Result<std::unique_ptr<LoopThread>> LoopThread::start() {
  std::unique_ptr<LoopThread> loop(new LoopThread);
  ANELANE_TRY(loop->init());
  return loop;
}

Status LoopThread::init() {
  if (const int rc = uv_loop_init(&loop_); rc != 0) {
    // libuv (1.44 at least) forgets its own descriptor when it gets no second one. 0: it did not come so far.
    if (const int fd = uv_backend_fd(&loop_); fd > STDERR_FILENO) ::close(fd);
    return uv_failed("create the lane's event loop", rc);
  }
  if (const int rc = uv_async_init(&loop_, &async_,
                                   [](uv_async_t* h) { static_cast<LoopThread*>(h->data)->drain_tasks(); });
      rc != 0) {
    uv_loop_close(&loop_);
    return uv_failed("create the lane's wake-up", rc);
  }
  uv_timer_init(&loop_, &timer_);
  async_.data = this;
  timer_.data = this;
  accepting_ = true;
  auto thread = start_quiet_thread([this] { serve(); });
  if (!thread.ok()) {
    accepting_ = false;
    uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
    return std::move(thread).status();
  }
  thread_ = std::move(*thread);
  return {};
}

LoopThread::~LoopThread() {
  stop();
}

void LoopThread::serve() {
  thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

bool LoopThread::post(Task task) {
  std::lock_guard lock(mutex_);
  if (!accepting_) return false;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) uv_async_send(&async_);
  return true;
}

bool LoopThread::run(const Task& task) {
  std::mutex done_mutex;
  std::condition_variable done_cv;
  bool done = false;
  const bool posted = post([&] {
    task();
    std::lock_guard lock(done_mutex);
    done = true;
    done_cv.notify_one();
  });
  if (!posted) return false;
  std::unique_lock lock(done_mutex);
  done_cv.wait(lock, [&] { return done; });
  return true;
}

void LoopThread::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    accepting_ = false;
    tasks_.push_back([this] { stopping_ = true; });
    uv_async_send(&async_);
  }
  thread_.join();
}

void LoopThread::drain_tasks() {
  std::vector<Task> batch;
  {
    std::lock_guard lock(mutex_);
    batch.swap(tasks_);
  }
  for (Task& task : batch) {
    task();
    task = nullptr;  // what it owned goes before the next one runs
  }
  if (stopping_) {
    timers_.clear();
    uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  }
}

LoopThread::TimerId LoopThread::add_timer(uint64_t at_ns, Task task) {
  const TimerId id{at_ns == 0 ? 1 : at_ns, ++timer_serial_};
  const bool first = timers_.empty() || id < timers_.begin()->first;
  timers_.emplace(id, std::move(task));
  if (first) arm_timer();
  return id;
}

void LoopThread::cancel_timer(TimerId* id) {
  if (id->second == 0) return;
  const bool first = !timers_.empty() && timers_.begin()->first == *id;
  timers_.erase(*id);
  *id = {};
  if (first) arm_timer();
}

void LoopThread::arm_timer() {
  if (uv_is_closing(reinterpret_cast<uv_handle_t*>(&timer_))) return;
  if (timers_.empty()) {
    uv_timer_stop(&timer_);
    return;
  }
  const uint64_t now = now_ns();
  const uint64_t at = timers_.begin()->first.first;
  // Rounded up: a timer that comes early would only be set again.
  const uint64_t ms = at <= now ? 0 : (at - now + 999'999) / 1'000'000;
  uv_update_time(&loop_);
  uv_timer_start(
      &timer_, [](uv_timer_t* h) { static_cast<LoopThread*>(h->data)->fire_timers(); }, ms, 0);
}

void LoopThread::fire_timers() {
  const uint64_t now = now_ns();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
  arm_timer();
}

Status LoopThread::Watch::open(LoopThread* loop, int fd) {
  close();
  auto state = std::make_unique<State>();
  if (const int rc = uv_poll_init(&loop->loop_, &state->poll, fd); rc != 0)
    return uv_failed("watch a descriptor", rc);
  state->poll.data = state.get();
  state_ = state.release();
  return {};
}

void LoopThread::Watch::start(int events, std::function<void(int)> ready) {
  if (state_ == nullptr) return;
  state_->ready = std::move(ready);
  uv_poll_start(&state_->poll, events, [](uv_poll_t* h, int status, int got) {
    // The callback may close this watch and so clear `ready`: run a copy.
    const auto run = static_cast<State*>(h->data)->ready;
    if (run) run(status < 0 ? (UV_READABLE | UV_WRITABLE) : got);
  });
}

void LoopThread::Watch::stop() {
  if (state_ == nullptr) return;
  uv_poll_stop(&state_->poll);
  state_->ready = nullptr;
}

void LoopThread::Watch::close() {
  if (state_ == nullptr) return;
  uv_poll_stop(&state_->poll);
  state_->ready = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->poll),
           [](uv_handle_t* h) { delete static_cast<State*>(h->data); });
  state_ = nullptr;
}

}  // namespace anelane
