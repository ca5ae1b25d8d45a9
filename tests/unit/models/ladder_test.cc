#include <gtest/gtest.h>

#include "models/model.h"

namespace anelane {
namespace {

using Rungs = std::vector<uint32_t>;

Rungs ladder(uint32_t ceiling, const Rungs& wanted = {}) {
  Result<Rungs> out = make_ladder(ceiling, wanted);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.ok() ? *out : Rungs();
}

void expect_refused(uint32_t ceiling, const Rungs& wanted, const std::string& part) {
  const Status status = make_ladder(ceiling, wanted).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(Ladder, L2_2_DefaultRungsAreCutAtTheCeiling) {
  EXPECT_EQ(ladder(512), (Rungs{128, 256, 512}));
  EXPECT_EQ(ladder(8192), (Rungs{128, 256, 512, 1024, 2048, 4096, 8192}));
  EXPECT_EQ(ladder(288), (Rungs{128, 256, 288}));
  EXPECT_EQ(ladder(128), (Rungs{128}));
  EXPECT_EQ(ladder(64), (Rungs{64}));
  EXPECT_EQ(ladder(16384), (Rungs{128, 256, 512, 1024, 2048, 4096, 8192, 16384}));
}

TEST(Ladder, L2_2_WantedRungsAreTakenAsTheyAre) {
  EXPECT_EQ(ladder(512, {64, 320, 512}), (Rungs{64, 320, 512}));
}

TEST(Ladder, L2_2_WrongRungsAreRefusedWithTheReason) {
  expect_refused(512, {256, 128, 512}, "128 follows 256");
  expect_refused(512, {128, 128, 512}, "strictly ascending");
  expect_refused(512, {0, 512}, "more than 0");
  expect_refused(512, {128, 1024}, "1024 is beyond the model's ceiling of 512");
  expect_refused(512, {128, 256}, "end with the model's ceiling, 512");
  expect_refused(512, {100, 512}, "multiple of 32");
  Rungs many;
  for (uint32_t i = 1; i <= 17; ++i) many.push_back(32 * i);
  expect_refused(544, many, "at most 16");
}

TEST(Ladder, S001_ASequenceUsesTheSmallestRungThatFits) {
  const Rungs rungs = ladder(8192);
  EXPECT_EQ(rung_for(rungs, 1), 128u);
  EXPECT_EQ(rung_for(rungs, 128), 128u);
  EXPECT_EQ(rung_for(rungs, 129), 256u);
  EXPECT_EQ(rung_for(rungs, 8192), 8192u);
  EXPECT_EQ(rung_for(rungs, 8193), 0u);
  EXPECT_EQ(rung_for(rungs, uint64_t{1} << 40), 0u);
  EXPECT_EQ(rung_for(rungs, 0), 0u);
}

// Every length of every rung, so that no border is off by one.
TEST(Ladder, S002_EachLengthUpToTheCeilingHasTheRungThatHoldsItAndNoSmallerOne) {
  const Rungs rungs = ladder(8192);
  uint32_t below = 0;
  for (const uint32_t rung : rungs) {
    for (uint32_t tokens = below + 1; tokens <= rung; ++tokens) ASSERT_EQ(rung_for(rungs, tokens), rung);
    below = rung;
  }
  EXPECT_EQ(rung_for(rungs, 257), 512u);
  EXPECT_EQ(rung_for(rungs, 8193), 0u);
  EXPECT_EQ(rung_for(rungs, 0), 0u);
}

}  // namespace
}  // namespace anelane
