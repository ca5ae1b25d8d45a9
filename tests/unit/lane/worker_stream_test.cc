// The permit of a stream: who gets it, who is told.
#include "lane/worker_stream.h"

#include <gtest/gtest.h>

#include "worker/descriptor_pairs.h"

namespace anelane {
namespace {

class NoWorker final : public worker::WorkerHandle {
 public:
  NoWorker() {
    worker::DescriptorPair pair = *worker::make_socket_pair();
    stream_ = std::move(pair.ours);
  }
  int exit_fd() const override { return -1; }
  pid_t pid() const override { return 0; }
  bool kill() override { return false; }
  bool exited() override { return true; }
  bool can_be_killed() const override { return false; }
  std::string how_it_ended() const override { return "never was"; }
};

class Permit : public testing::Test {
 protected:
  WorkerStream stream_{std::make_unique<NoWorker>(), *worker::Arena::create(4096), 4096, 1};
  int wakes_ = 0;
  std::function<void()> count() {
    return [this] { ++wakes_; };
  }
};

TEST_F(Permit, L3_7_IdlenessIsToldWhenACallerWasTheLastUser) {
  stream_.tell_idle(count());
  ASSERT_TRUE(stream_.try_take_for_caller());
  EXPECT_FALSE(stream_.idle());
  stream_.give_back();
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(stream_.idle());
  ASSERT_TRUE(stream_.take_for_loop(nullptr));
  stream_.give_back();
  EXPECT_EQ(wakes_, 1) << "the lane thread knows its own exchanges";
  stream_.tell_idle(nullptr);
  ASSERT_TRUE(stream_.try_take_for_caller());
  stream_.give_back();
  EXPECT_EQ(wakes_, 1);
}

TEST_F(Permit, TheLaneThreadGoesFirst) {
  stream_.tell_idle([] { FAIL() << "somebody takes it"; });
  ASSERT_TRUE(stream_.try_take_for_caller());
  EXPECT_FALSE(stream_.take_for_loop(count()));
  EXPECT_FALSE(stream_.try_take_for_caller());
  stream_.give_back();
  EXPECT_EQ(wakes_, 1);
  EXPECT_TRUE(stream_.take_for_loop(nullptr));
}

TEST_F(Permit, NobodyGetsABrokenStream) {
  stream_.break_off();
  EXPECT_FALSE(stream_.try_take_for_caller());
  EXPECT_FALSE(stream_.take_for_loop(count()));
  EXPECT_EQ(wakes_, 0);
}

}  // namespace
}  // namespace anelane
