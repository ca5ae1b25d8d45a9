#include "lane/loop_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fcntl.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace anelane {
namespace {

constexpr uint64_t kMs = 1'000'000;

std::unique_ptr<LoopThread> started() {
  auto loop = LoopThread::start();
  EXPECT_TRUE(loop.ok()) << loop.status().message();
  return *std::move(loop);
}

TEST(LoopThread, TasksRunInOrderOnItsThread) {
  auto loop = started();
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(loop->post([&, i] {
      EXPECT_TRUE(loop->on_loop());
      seen.push_back(i);
    }));
  ASSERT_TRUE(loop->run([] {}));
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_FALSE(loop->on_loop());
}

// Wherever on the way the descriptors run out, those that were opened are given back.
TEST(LoopThread, L7_3_AStartThatFailsLeavesNoDescriptor) {
  const auto open = [] {
    size_t count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  const size_t before = open();
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  size_t failed = 0;
  for (rlim_t limit = 3; limit < 64; ++limit) {
    const rlimit few{limit, files.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const bool started = LoopThread::start().ok();
    ::setrlimit(RLIMIT_NOFILE, &files);
    ASSERT_EQ(open(), before) << "with a limit of " << limit;
    failed += started ? 0 : 1;
    if (started) break;
  }
  EXPECT_GT(failed, 0u);
}

TEST(LoopThread, F63_PostersRacingStopNeverTouchAClosedLoop) {
  for (int round = 0; round < 50; ++round) {
    auto loop = started();
    std::atomic<int> accepted{0}, ran{0};
    std::vector<std::thread> posters;
    for (int t = 0; t < 8; ++t)
      posters.emplace_back([&] {
        while (loop->post([&] { ran.fetch_add(1); })) accepted.fetch_add(1);
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->stop();
    for (auto& p : posters) p.join();
    EXPECT_EQ(accepted.load(), ran.load()) << "what was accepted has run";
    EXPECT_FALSE(loop->run([] {}));
  }
}

TEST(LoopThread, TimersFireInTimeOrderAndNeverEarly) {
  auto loop = started();
  std::vector<int> order;
  std::atomic<bool> done{false};
  const uint64_t start = now_ns();
  loop->run([&] {
    loop->add_timer(start + 30 * kMs, [&] {
      EXPECT_GE(now_ns(), start + 30 * kMs);
      order.push_back(3);
      done = true;
    });
    loop->add_timer(start + 10 * kMs, [&] { order.push_back(1); });
    LoopThread::TimerId cancelled = loop->add_timer(start + 15 * kMs, [&] { order.push_back(99); });
    loop->add_timer(start + 20 * kMs, [&] { order.push_back(2); });
    loop->cancel_timer(&cancelled);
    EXPECT_EQ(cancelled.second, 0u);
    loop->cancel_timer(&cancelled);  // again: nothing
  });
  while (!done && now_ns() < start + 5'000 * kMs) std::this_thread::yield();
  loop->stop();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(LoopThread, WatchReportsReadableAndMayBeClosedInItsOwnCallback) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto loop = started();
  LoopThread::Watch watch;
  std::atomic<int> calls{0};
  loop->run([&] {
    ASSERT_TRUE(watch.open(loop.get(), ends[0]).ok());
    watch.start(UV_READABLE, [&](int events) {
      EXPECT_EQ(events & UV_READABLE, UV_READABLE);
      calls.fetch_add(1);
      watch.close();
    });
  });
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  const uint64_t until = now_ns() + 5'000 * kMs;
  while (calls == 0 && now_ns() < until) std::this_thread::yield();
  loop->run([] {});
  EXPECT_EQ(calls, 1);
  loop->stop();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LoopThread, HostSignalsAreBlockedOnTheLaneThread) {
  auto loop = started();
  sigset_t mask;
  loop->run([&] { pthread_sigmask(SIG_BLOCK, nullptr, &mask); });
  for (int blocked : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGUSR1, SIGALRM, SIGHUP})
    EXPECT_EQ(sigismember(&mask, blocked), 1) << blocked;
  for (int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
    EXPECT_EQ(sigismember(&mask, open), 0) << open;
}

}  // namespace
}  // namespace anelane
