// Victims: their order, their number, the earmark (L3.7).
#include "bench_lane.h"

namespace anelane::sched {
namespace {

TEST(Victims, S107_IdleThenUndemandedThenNotTheFirstRungThenLru) {
  BenchLane lane(BenchLane::options_with(12));
  const WorkerId a = lane.model(4, {-1, -1, -1, -1});
  lane.make_resident(a, 0, 1);
  lane.at(100).make_resident(a, 1, 2);
  lane.at(300).make_resident(a, 2, 3);
  lane.at(500).request(4, a, 3);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:1"});  // 0 is older, but the first rung
}

TEST(Victims, S104_AnIdleWorkersNewerShapeBeforeABusyWorkersOlderOne) {
  BenchLane lane(BenchLane::options_with(12));
  const WorkerId a = lane.model(4, {-1, -1, -1}), b = lane.model(4, {-1, -1, -1});
  lane.make_resident(a, 1, 1);
  lane.at(100).make_resident(b, 1, 2);
  lane.at(200).request(3, a, 2);
  lane.sent(a, 2);
  lane.scheduler.set_stream_hint(a, false);
  lane.drain();
  lane.request(4, b, 2);
  EXPECT_TRUE(lane.drain().empty());  // the gate is taken, its holder's cost unknown
  lane.done(a, 2);
  lane.scheduler.set_stream_hint(a, false);
  EXPECT_EQ(lane.drain(), (Lines{"grant 3", "evict 2:1"}));
}

TEST(Victims, S106_IdleAndBusyTogetherWhenOneIsNotEnough) {
  BenchLane lane(BenchLane::options_with(50));
  const WorkerId a = lane.model(22, {-1, -1}), b = lane.model(22, {-1, -1}), c = lane.model(28, {-1});
  lane.make_resident(a, 1, 1);
  lane.at(100).make_resident(b, 1, 2);
  lane.scheduler.set_stream_hint(a, false);
  lane.request(3, c, 0);
  EXPECT_EQ(lane.drain(), (Lines{"evict 2:1"}));  // 6 free + 22
}

TEST(Victims, L3_7_WhatTurnsOutNotToBeNeededIsLetOff) {
  BenchLane lane(BenchLane::options_with(32));
  const WorkerId a = lane.model(4, {-1, -1}), b = lane.model(28, {-1, -1}), c = lane.model(28, {-1});
  lane.make_resident(a, 1, 1);
  lane.at(100).make_resident(b, 1, 2);
  lane.request(3, c, 0);
  EXPECT_EQ(lane.drain(), Lines{"evict 2:1"});  // the older 4 alone do not help, and are not needed
}

TEST(Victims, L3_7_NoneIsTakenIfAllAreTooFew) {
  BenchLane lane(BenchLane::options_with(32));
  const WorkerId a = lane.model(4, {-1, -1}), b = lane.model(28, {-1, -1}), c = lane.model(28, {-1});
  lane.make_resident(a, 1, 1);
  lane.at(100).make_resident(b, 1, 2);
  lane.request(3, b, 1);
  lane.drain();
  lane.request(4, c, 0);
  EXPECT_TRUE(lane.drain().empty());
  lane.release(b, 1);
  EXPECT_EQ(lane.drain(), Lines{"evict 2:1"});
}

TEST(Victims, S016_AtItsOwnLimitAModelTakesItsOwn) {
  Options o;
  o.shapes_per_model = 1;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1}), b = lane.model(4, {-1, -1});
  lane.make_resident(b, 1, 1);
  lane.at(100).make_resident(a, 0, 2);
  lane.request(3, a, 1);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:0"});
}

TEST(Victims, L3_7_AnEvictionNotYetSentIsWithdrawnWhenNobodyWantsTheRoomAnyMore) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.request(3, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:0"});
  lane.cancel(2);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 CANCELLED", "keep 1:0", "drop 1:1", "grant 3"}));
}

TEST(Victims, F33_ALeaseTakenAtTheLastMomentWins) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  ASSERT_NE(lane.scheduler.gate(a, 0).try_lease(lane.scheduler.coarse_now()), 0u);
  lane.request(2, a, 1);
  EXPECT_TRUE(lane.drain().empty());
  lane.release(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:0"});
}

TEST(Victims, L3_7_AShapeOnItsWayOutIsQueuedForAnewWhenItIsGone) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.evict_sent(a, 0);
  lane.request(3, a, 0);
  lane.drain();
  lane.evicted(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:1"});
  EXPECT_EQ(lane.scheduler.snapshot(lane.now).queue.size(), 1u);
}

}  // namespace
}  // namespace anelane::sched
