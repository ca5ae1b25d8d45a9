// Patience with SHAPE_COMPILING, on a clock that only moves when somebody sleeps.
#include "retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace anelane_tool {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct World {
  uint64_t now = 1;
  std::vector<uint64_t> sleeps;
  int attempts = 0;
  RetryClock clock() {
    return {[this] { return now; },
            [this](uint64_t ms) {
              sleeps.push_back(ms);
              now += ms * kMs;
            }};
  }
  // Answers `after` times SHAPE_COMPILING with this delay, then `then`.
  anelane_status run(uint64_t deadline_ms, int after, uint64_t retry_after_ms, anelane_status then) {
    anelane_error err = {};
    return with_patience(
        1 + deadline_ms * kMs, clock(),
        [&](anelane_error* e) -> anelane_status {
          e->retry_after_ms = retry_after_ms;
          return attempts++ < after ? ANELANE_SHAPE_COMPILING : then;
        },
        &err);
  }
};

TEST(Retry, SleepsAsLongAsTheAnswerSaysAndAsksAgain) {
  World world;
  EXPECT_EQ(world.run(10'000, 2, 300, ANELANE_OK), ANELANE_OK);
  EXPECT_EQ(world.sleeps, (std::vector<uint64_t>{300, 300}));
  EXPECT_EQ(world.attempts, 3);
}

TEST(Retry, AnyOtherAnswerComesBackAtOnce) {
  World world;
  EXPECT_EQ(world.run(10'000, 0, 300, ANELANE_ENGINE_CRASHED), ANELANE_ENGINE_CRASHED);
  EXPECT_TRUE(world.sleeps.empty());
}

TEST(Retry, AWaitBeyondTheDeadlineIsNotBegun) {
  World world;
  EXPECT_EQ(world.run(1'000, 1'000'000, 400, ANELANE_OK), ANELANE_SHAPE_COMPILING);
  EXPECT_EQ(world.sleeps, (std::vector<uint64_t>{400, 400}));
  EXPECT_LE(world.now, 1 + 1'000 * kMs);
}

TEST(Retry, DoesNotSpinWhenTheAnswerHasNoDelay) {
  World world;
  EXPECT_EQ(world.run(1'000, 1'000'000, 0, ANELANE_OK), ANELANE_SHAPE_COMPILING);
  EXPECT_LE(world.attempts, 51);
}

TEST(Retry, LooksAgainBeforeALongPredictionIsOver) {
  World world;
  EXPECT_EQ(world.run(600'000, 1, 60'000, ANELANE_OK), ANELANE_OK);
  EXPECT_EQ(world.sleeps, (std::vector<uint64_t>{5'000}));
}

TEST(Retry, NoDeadlineIsNoLimit) {
  World world;
  anelane_error err = {};
  const auto attempt = [&](anelane_error* e) -> anelane_status {
    e->retry_after_ms = 700'000;
    return world.attempts++ < 500 ? ANELANE_SHAPE_COMPILING : ANELANE_OK;
  };
  EXPECT_EQ(with_patience(ANELANE_NO_DEADLINE, world.clock(), attempt, &err), ANELANE_OK);
}

}  // namespace
}  // namespace anelane_tool
