// A few threads that share the tasks of one step at a time.
#pragma once
#include <cstddef>
#include <memory>

#include "base/status.h"

namespace anelane::soft {

class ThreadPool {
 public:
  // `threads` includes the caller of run(): 1 starts none. 0 = one for each processor we may use.
  static Result<std::unique_ptr<ThreadPool>> make(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t threads() const;
  // task(i, thread) for every i below `tasks`, in any order, thread below threads(); returns when all are
  // done. One caller at a time. Tasks must not throw. Allocates nothing.
  template <class Task>
  void run(size_t tasks, const Task& task) {
    run_erased(tasks, {&task, [](const void* it, size_t i, size_t thread) {
                         (*static_cast<const Task*>(it))(i, thread);
                       }});
  }

 private:
  struct State;
  struct TaskRef {
    const void* task;
    void (*call)(const void* task, size_t i, size_t thread);
  };
  void run_erased(size_t tasks, TaskRef task);
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace anelane::soft
