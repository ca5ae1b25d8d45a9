// A few threads that share the tasks of one step at a time.
#pragma once
#include <cstddef>
#include <functional>
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
  // done. One caller at a time. Tasks must not throw.
  void run(size_t tasks, const std::function<void(size_t task, size_t thread)>& task);

 private:
  struct State;
  explicit ThreadPool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace anelane::soft
