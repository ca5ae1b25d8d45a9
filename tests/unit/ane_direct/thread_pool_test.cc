// Tasks run once each, signals stay away, and an idle pool wakes nobody.
#include "ane_direct/soft/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <vector>

namespace anelane::soft {
namespace {

TEST(ThreadPool, EveryTaskRunsOnce) {
  for (const uint32_t threads : {1u, 2u, 5u}) {
    const auto pool = ThreadPool::make(threads);
    ASSERT_TRUE(pool.ok());
    EXPECT_EQ((*pool)->threads(), threads);
    for (size_t tasks = 0; tasks < 300; ++tasks) {
      std::vector<std::atomic<int>> runs(tasks);
      (*pool)->run(tasks, [&](size_t task, size_t thread) {
        ASSERT_LT(thread, threads);
        runs[task].fetch_add(1);
      });
      for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
    }
  }
}

// The caller runs out of tasks while others still work on theirs.
TEST(ThreadPool, WaitsForTasksThatOthersHaveClaimed) {
  const auto pool = ThreadPool::make(3);
  const pthread_t caller = pthread_self();
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> finished{0};
    (*pool)->run(12, [&](size_t, size_t) {
      const timespec pause{0, pthread_equal(pthread_self(), caller) != 0 ? 200'000 : 1'000'000};
      nanosleep(&pause, nullptr);
      ++finished;
    });
    ASSERT_EQ(finished.load(), 12);
  }
}

TEST(ThreadPool, ThreadsBlockAsynchronousSignalsOnly) {
  const auto pool = ThreadPool::make(2);
  std::atomic<int> looked{0}, wrong{0};
  const pthread_t caller = pthread_self();
  for (int round = 0; round < 2000 && looked.load() == 0; ++round) {
    (*pool)->run(64, [&](size_t, size_t) {
      if (pthread_equal(pthread_self(), caller) != 0) {
        const timespec pause{0, 100'000};
        nanosleep(&pause, nullptr);
        return;
      }
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGALRM, SIGPIPE})
        wrong += sigismember(&mask, signal) == 1 ? 0 : 1;
      for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
        wrong += sigismember(&mask, signal);
      ++looked;
    });
  }
  EXPECT_GT(looked.load(), 0);
  EXPECT_EQ(wrong.load(), 0);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);  // the caller's mask is as before
}

TEST(ThreadPool, AnIdlePoolNeverWakes) {
  const auto pool = ThreadPool::make(4);
  (*pool)->run(100, [](size_t, size_t) {});
  const timespec settle{0, 20'000'000}, idle{0, 300'000'000};
  nanosleep(&settle, nullptr);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  nanosleep(&idle, nullptr);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 2);  // this thread's own sleep
}

}  // namespace
}  // namespace anelane::soft
