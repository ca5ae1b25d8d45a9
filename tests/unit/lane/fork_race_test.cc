// A host that forks all the time, from another thread, while lanes come and go: no child may keep a lock or
// a stream, at whatever moment it was forked. The children stay until the end, so what one of them kept
// stays taken.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fork_guard.h"
#include "lane/lane_lock.h"
#include "support/tiny_checkpoint.h"
#include "worker/descriptor_pairs.h"

namespace anelane {
namespace {

class ForkRace : public testing::Test {
 protected:
  void SetUp() override {
    fork_guard::install();
    ASSERT_EQ(::pipe2(gate_, O_CLOEXEC), 0);
    forker_ = std::thread([this] {
      while (!stop_) {
        const pid_t pid = ::fork();
        if (pid == 0) {
          char byte;
          ::close(gate_[1]);
          (void)!::read(gate_[0], &byte, 1);  // until the parent closes its end
          ::_exit(fork_guard::forked() ? 0 : 1);
        }
        if (pid > 0) children_.push_back(pid);
        if (children_.size() == kChildren) stop_ = true;
        // On one processor the forks could be over before the rounds have begun.
        do {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        } while (!stop_ && rounds_ * kChildren < kRounds * children_.size());
      }
    });
  }
  void TearDown() override {
    stop_ = true;
    forker_.join();
    ::close(gate_[1]);
    ::close(gate_[0]);
    for (const pid_t pid : children_) {
      int status = -1;
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 0) << "a child did not know that it is one";
    }
    EXPECT_EQ(children_.size(), kChildren);
  }

  static constexpr size_t kChildren = 150, kRounds = 20;  // as many of these at least
  static constexpr uint64_t kBoundNs = 5'000'000'000;
  int gate_[2] = {-1, -1};
  std::atomic<bool> stop_{false};
  std::atomic<size_t> rounds_{0};
  std::vector<pid_t> children_;  // the forker's, until it has joined
  std::thread forker_;
};

TEST_F(ForkRace, L1_2_NoForkedChildKeepsTheLock) {
  const TempFolder folder;
  for (; !stop_; ++rounds_) {
    // A child that has just been born has the lock for a moment.
    Result<LaneLock> lock = LaneLock::acquire(folder.path(), now_ns() + kBoundNs);
    ASSERT_TRUE(lock.ok()) << "after " << rounds_ << " rounds: " << lock.status().message();
    lock->close();
  }
}

TEST_F(ForkRace, NoForkedChildKeepsAStreamOpen) {
  for (; !stop_; ++rounds_) {
    Result<worker::DescriptorPair> pair = worker::make_socket_pair();
    ASSERT_TRUE(pair.ok());
    pair->theirs.reset();
    pollfd entry{pair->ours.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 5000), 1) << "after " << rounds_ << " rounds: somebody has the other end";
  }
}

}  // namespace
}  // namespace anelane
