// Tasks run once each, signals stay away, and an idle pool wakes nobody.
#include "ane_direct/soft/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
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

#if defined(__linux__)
std::set<std::string> thread_folders() {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    folders.insert(entry.path());
  return folders;
}

// How often these threads gave up the processor of their own will, and the other way.
long switches(const std::set<std::string>& folders) {
  long count = 0;
  for (const std::string& folder : folders) {
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.find("ctxt_switches:") != std::string::npos)
        count += std::stol(line.substr(line.find(':') + 1));
  }
  return count;
}

TEST(ThreadPool, AnIdlePoolNeverWakes) {
  const std::set<std::string> before = thread_folders();
  const auto pool = ThreadPool::make(4);
  std::set<std::string> mine;
  for (const std::string& folder : thread_folders())
    if (!before.contains(folder)) mine.insert(folder);
  ASSERT_EQ(mine.size(), 3u);
  (*pool)->run(100, [](size_t, size_t) {});
  // On a busy machine the threads may take a while to their sleep, with pauses on the way.
  const timespec idle{0, 300'000'000};
  long woken = -1;
  for (int i = 0; i < 50 && woken != 0; ++i) {
    const long start = switches(mine);
    nanosleep(&idle, nullptr);
    woken = switches(mine) - start;
  }
  EXPECT_EQ(woken, 0);
}
#endif

}  // namespace
}  // namespace anelane::soft
