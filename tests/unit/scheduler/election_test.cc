// Heads, gates, starvation: L3.5, L4.1, L4.8.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

constexpr double kSecond = 1000;

TEST(Election, S208_OneCompileAtATimeAndOneLoadBesideIt) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1}), c = lane.model(4, {1.0}, 1);
  lane.request(1, a, 0);
  lane.request(2, b, 0);
  lane.request(3, c, 0);
  lane.at(50);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "load 3:0"}));
  lane.sent(a, 0);
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"grant 1", "compile 2:0"}));
}

TEST(Election, L4_8_AWorkerWithTheOtherGatesAdmissionIsLeftOut) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, 1.0}, 2), b = lane.model(4, {2.0}, 1);
  lane.request(1, a, 0);
  lane.request(2, a, 1);  // a load on the worker that compiles
  lane.request(3, b, 0);
  lane.at(60);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "load 2:0"}));
}

TEST(Election, S209_NothingIsReservedWhileQueued) {
  BenchLane lane;
  const WorkerId a = lane.model(28, {-1, -1, -1}), b = lane.model(28, {-1});
  for (uint32_t i = 0; i < 3; ++i) {
    lane.request(1 + i, a, i);
    lane.sent(a, i);
    lane.done(a, i);
  }
  lane.request(9, b, 0);
  lane.drain();
  EXPECT_EQ(lane.charged(), 84u);
  lane.release(a, 1);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:1"});
  EXPECT_EQ(lane.charged(), 84u);
  lane.evict_sent(a, 1);
  lane.evicted(a, 1);
  EXPECT_EQ(lane.charged(), 84u);  // 56, and 28 for the compile that started at once
  EXPECT_EQ(lane.drain(), Lines{"compile 2:0"});
}

TEST(Election, L3_5_AStarvedHeadHoldsBackLaterTicketsOnly) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {-1, -1, -1});
  for (uint32_t i = 0; i < 2; ++i) {
    lane.request(1 + i, a, i);
    lane.sent(a, i);
    lane.done(a, i);
  }
  lane.request(5, a, 2);  // starved: both are leased
  lane.drain();
  lane.request(6, a, 0);
  EXPECT_TRUE(lane.drain().empty());
  EXPECT_EQ(lane.scheduler.gate(a, 0).try_lease(lane.scheduler.coarse_now()), 0u);
  lane.release(a, 1);  // not the first rung: taken; the head is starved no more
  EXPECT_EQ(lane.drain(), (Lines{"evict 1:1", "grant 6"}));
}

TEST(Election, S101_TheCohortGoesFirstThenTheStarvedHeadThenLaterOnes) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {-1, -1, -1});
  lane.request(90, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);  // 128 is leased all along
  lane.request(1, a, 1);
  lane.sent(a, 1);
  lane.request(2, a, 1);
  lane.request(3, a, 1, -1, false);
  lane.request(4, a, 2);
  lane.drain();
  lane.done(a, 1);
  EXPECT_EQ(lane.drain(), (Lines{"grant 1", "grant 2", "offer 3"}));
  lane.request(5, a, 1);
  lane.release(a, 1);
  lane.release(a, 1);
  EXPECT_TRUE(lane.drain().empty());  // protected though unleased; 5 waits behind 4
  lane.take(3);
  lane.release(a, 1);
  EXPECT_EQ(lane.drain(), (Lines{"grant 3", "evict 1:1"}));
  lane.evict_sent(a, 1);
  lane.evicted(a, 1);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:2"});
  lane.sent(a, 2);
  lane.done(a, 2);
  lane.at(50).release(a, 2);  // its cost is known by now: it has to settle
  EXPECT_EQ(lane.drain(), (Lines{"grant 4", "evict 1:2"}));
}

TEST(Election, S103_TheLastMemberLeavingEndsTheProtection) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0, -1, false);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1);
  lane.drain();
  lane.cancel(1);
  EXPECT_EQ(lane.drain(), (Lines{"answer 1 CANCELLED", "evict 1:0"}));
}

TEST(Election, L4_8_TheHeadEvictsEarlyWhileTheHolderFinishes) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {10 * kSecond, -1}), b = lane.model(4, {1 * kSecond});
  lane.make_resident(a, 1, 1);
  lane.at(1000).request(2, a, 0);
  lane.at(1050).sent(a, 0);
  lane.at(2000).request(3, b, 0);
  lane.drain();
  lane.at(10'049.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(10'050);  // 1 s remains
  EXPECT_EQ(lane.drain(), Lines{"evict 1:1"});
}

// A cancelled ticket that others follow in its entry changes nothing, unless it was the first of a starved
// head and somebody waits in between.
TEST(Election, L3_5_WhenItsFirstTicketLeavesAStarvedHeadHoldsBackOnlyWhoCameAfterTheNext) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {-1, -1, -1});
  for (uint32_t i = 0; i < 2; ++i) {
    lane.request(1 + i, a, i);
    lane.sent(a, i);
    lane.done(a, i);
  }
  lane.request(3, a, 2);
  lane.request(4, a, 2);
  lane.request(5, a, 0);
  lane.request(6, a, 2);
  lane.request(7, a, 0);
  lane.drain();
  lane.cancel(3);
  EXPECT_EQ(lane.drain(), (Lines{"answer 3 CANCELLED"}));
  lane.cancel(4);
  EXPECT_EQ(lane.drain(), (Lines{"answer 4 CANCELLED", "grant 5"}));
  lane.cancel(6);  // the last: the entry goes, and its hold with it
  EXPECT_EQ(lane.drain(), (Lines{"answer 6 CANCELLED", "drop 1:2", "grant 7"}));
}

TEST(Election, L3_5_AHeadShortUnderItsOwnLimitHoldsBackItsModelOnly) {
  Options o;
  o.shapes_per_model = 1;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1}), b = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1);  // its own only shape is leased
  lane.request(3, a, 0);  // held back by it
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "grant 1"}));
  lane.request(4, b, 0);  // not; and it takes the gate, which ends the hold
  EXPECT_EQ(lane.drain(), (Lines{"compile 2:0", "grant 3"}));
  lane.sent(b, 0);
  lane.done(b, 0);
  lane.release(a, 0);
  lane.release(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"grant 4", "evict 1:0"}));
}

TEST(Election, L3_5_ALateComerOfACohortDoesNotLeasePastAHeadThatSettlesAtThatInstant) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {-1, -1, 1000.0});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1, -1, false);
  lane.sent(a, 1);
  lane.done(a, 1);
  lane.request(3, a, 1);
  lane.at(300);  // the offer is over
  lane.request(4, a, 2);
  lane.drain();
  lane.now += BenchLane::ms(50);
  lane.take(2);
  EXPECT_TRUE(lane.drain().empty());
  lane.cancel(4);
  EXPECT_EQ(lane.drain(), (Lines{"answer 4 CANCELLED", "drop 1:2", "grant 2"}));
}

}  // namespace
}  // namespace anelane::sched
