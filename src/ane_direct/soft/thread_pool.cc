// One job at a time: the caller publishes it under the lock with a new number, everybody takes task indices
// from one counter, and the caller leaves when no worker is inside the job any more. A worker that has just
// worked watches for the next job for some microseconds before it sleeps, because the steps of a program
// follow each other closely and waking a thread costs more than most steps; an idle pool sleeps and wakes
// nobody. The sharing never changes results: tasks own their outputs.
//
// Threads block the asynchronous signals, so that the host's handlers run on the host's threads only, and
// start with the default floating-point environment whatever their creator had set.
#include "ane_direct/soft/thread_pool.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/limits.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace anelane::soft {
namespace {

constexpr int kWatchRounds = 4000;  // about 20 to 50 µs

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// All signals but those that a fault of the thread itself raises.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    sigfillset(&set);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
      sigdelset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &old_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t old_{};
};

uint32_t usable_processors() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<uint32_t>(CPU_COUNT(&set));
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : count;
}

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable wake;  // a new job, or the end
  std::condition_variable done;  // the last worker left the job
  TaskRef task{};                // under mutex; empty: no job
  size_t tasks = 0;              // under mutex
  size_t inside = 0;             // workers inside the job; under mutex
  bool stop = false;
  std::atomic<uint64_t> job{0};  // written under mutex
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;

  // `what` is the caller's copy of `task`, taken under the mutex: the one in the state is cleared as soon as
  // every index has been claimed, while claimed ones still run.
  void take_tasks(TaskRef what, size_t count, size_t thread) {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) what.call(what.task, i, thread);
  }
  void work(size_t thread);
};

void ThreadPool::State::work(size_t thread) {
  std::fesetenv(FE_DFL_ENV);
  uint64_t seen = 0;
  for (;;) {
    for (int round = 0; seen != 0 && round < kWatchRounds && job.load(std::memory_order_acquire) == seen;
         ++round)
      relax();
    TaskRef what{};
    size_t count = 0;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stop || job.load(std::memory_order_relaxed) != seen; });
      if (stop) return;
      seen = job.load(std::memory_order_relaxed);
      if (task.call == nullptr) continue;  // that job is over already
      what = task;
      count = tasks;
      ++inside;
    }
    take_tasks(what, count, thread);
    std::lock_guard lock(mutex);
    if (--inside == 0) done.notify_one();
  }
}

ThreadPool::ThreadPool(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::make(uint32_t threads) {
  if (threads == 0) threads = usable_processors();
  if (threads > limits::kMaxEngineThreads) threads = limits::kMaxEngineThreads;
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::make_unique<State>()));
  const SignalsBlocked blocked;  // inherited by the threads
  try {
    for (uint32_t i = 1; i < threads; ++i)
      pool->state_->workers.emplace_back([state = pool->state_.get(), i] { state->work(i); });
  } catch (const std::system_error& failure) {
    return error(Code::kResourcesExhausted, "cannot start thread " +
                                                std::to_string(pool->state_->workers.size() + 1) +
                                                " of the engine: " + failure.code().message());
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

size_t ThreadPool::threads() const {
  return state_->workers.size() + 1;
}

void ThreadPool::run_erased(size_t tasks, TaskRef task) {
  State& s = *state_;
  if (tasks <= 1 || s.workers.empty()) {
    for (size_t i = 0; i < tasks; ++i) task.call(task.task, i, 0);
    return;
  }
  {
    std::lock_guard lock(s.mutex);
    s.task = task;
    s.tasks = tasks;
    s.next.store(0, std::memory_order_relaxed);
    s.job.fetch_add(1, std::memory_order_release);
  }
  s.wake.notify_all();
  s.take_tasks(task, tasks, 0);
  std::unique_lock lock(s.mutex);
  s.task = {};  // late workers stay out
  s.done.wait(lock, [&] { return s.inside == 0; });
}

}  // namespace anelane::soft
