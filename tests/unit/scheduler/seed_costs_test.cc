// Seeds: the measured rows themselves, between and beyond them (L4.4).
#include "scheduler/seed_costs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace anelane::sched {
namespace {

TEST(SeedCosts, L4_4_AMeasuredRowIsReturnedAsItIs) {
  EXPECT_EQ(seed_compile_cost(22, 768, 512), 22 * 460'000);
  EXPECT_EQ(seed_compile_cost(22, 768, 8192), 22 * 3'880'000);
  EXPECT_EQ(seed_compile_cost(28, 1024, 1024), 28 * 960'000);
}

TEST(SeedCosts, L4_4_BetweenTwoRowsTheMiddleIsTheGeometricMean) {
  const auto middle = static_cast<double>(seed_compile_cost(1, 768, 1024));
  EXPECT_NEAR(middle, 1e6 * std::sqrt(0.46 * 0.95), 1);
}

TEST(SeedCosts, L4_4_BeyondTheLastRowTheLastTwoGoOn) {
  const auto beyond = static_cast<double>(seed_compile_cost(1, 768, 16384));
  EXPECT_NEAR(beyond, 1e6 * 3.88 * 3.88 / 2.07, 1);
}

TEST(SeedCosts, WiderAndLongerNeverCostLess) {
  for (uint32_t shape = 128; shape <= 8192; shape *= 2) {
    Time before = 0;
    for (const uint32_t width : {256u, 384u, 768u, 900u, 1024u, 2048u}) {
      const Time now = seed_compile_cost(1, width, shape);
      EXPECT_GT(now, before) << width << ":" << shape;
      if (shape > 128) {
        EXPECT_GT(now, seed_compile_cost(1, width, shape / 2)) << width << ":" << shape;
      }
      before = now;
    }
  }
}

TEST(SeedCosts, NothingIsKnownOfNothing) {
  EXPECT_EQ(seed_compile_cost(0, 768, 128), kUnknown);
}

}  // namespace
}  // namespace anelane::sched
