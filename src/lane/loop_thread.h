// The lane thread: one libuv loop that runs everything which decides. It never blocks and never runs user
// code. Other threads hand it tasks; the loop thread itself watches descriptors and sets timers.
#pragma once
#include <uv.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"

namespace anelane {

class LoopThread {
 public:
  using Task = std::function<void()>;
  using TimerId = std::pair<uint64_t, uint64_t>;  // time, serial; {0,0}: none

  static Result<std::unique_ptr<LoopThread>> start();
  ~LoopThread();  // stops if need be
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Any thread. Tasks run in order. False: the loop is stopped and the task will not run.
  bool post(Task task);
  // Any other thread: runs the task there and waits for its end. False: the loop is stopped.
  bool run(const Task& task);
  // Any other thread, once: runs what was posted, closes every handle, ends the thread.
  void stop();
  bool on_loop() const { return std::this_thread::get_id() == thread_id_.load(std::memory_order_relaxed); }

  // ---- loop thread only ----
  TimerId add_timer(uint64_t at_ns, Task task);
  void cancel_timer(TimerId* id);  // sets it to none

  // Watches one descriptor, which stays the caller's and must outlive close().
  class Watch {
   public:
    Watch() = default;
    ~Watch() { close(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    Status open(LoopThread* loop, int fd);
    void start(int events, std::function<void(int events)> ready);  // UV_READABLE, UV_WRITABLE
    void stop();
    void close();
    bool is_open() const { return state_ != nullptr; }

   private:
    struct State {
      uv_poll_t poll;
      std::function<void(int)> ready;
    };
    State* state_ = nullptr;  // deleted by libuv's close callback
  };

 private:
  LoopThread() = default;
  Status init();
  void serve();
  void drain_tasks();
  void arm_timer();
  void fire_timers();

  uv_loop_t loop_{};
  uv_async_t async_{};
  uv_timer_t timer_{};
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::mutex mutex_;  // tasks_, accepting_, and async_ against its closing
  std::vector<Task> tasks_;
  bool accepting_ = false;
  bool stopping_ = false;  // loop thread
  std::map<TimerId, Task> timers_;
  uint64_t timer_serial_ = 0;
};

}  // namespace anelane
