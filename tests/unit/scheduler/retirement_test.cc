// Retirement: L7.1, L7.2.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

TEST(Retirement, S220_QueuedTicketsFailAtOnceOthersAreUnaffected) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1}), c = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.request(2, b, 0);
  lane.request(3, c, 0);
  lane.drain();
  lane.retire(b);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 RETIRED", "drop 2:0", "close 2"}));
  lane.exit(b);
  EXPECT_EQ(lane.drain(), Lines{"retired 2"});
  lane.request(4, b, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 4 RETIRED"});
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"grant 1", "compile 3:0"}));
}

TEST(Retirement, S050_LeasesDrainFirstAndTheChargeComesBackAtTheExit) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.drain();
  lane.retire(a);
  EXPECT_TRUE(lane.drain().empty());
  EXPECT_EQ(lane.scheduler.gate(a, 0).try_lease(lane.scheduler.coarse_now()), 0u);
  lane.release(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"close 1"});
  EXPECT_EQ(lane.charged(), 4u);
  lane.at(60'000);
  EXPECT_EQ(lane.charged(), 4u);  // unconfirmed: everything stays charged
  lane.exit(a);
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Retirement, S049_ARetirementWhileAnAdmissionRunsLeavesNoPhantomReservation) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.drain();
  lane.retire(a);
  EXPECT_EQ(lane.drain(), Lines{"answer 1 RETIRED"});
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"close 1"});
  lane.exit(a);
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Retirement, L7_1_NoReplacementIsStartedForARetiredWorker) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.fault(a);
  lane.retire(a);
  lane.drain();
  lane.exit(a);
  EXPECT_EQ(lane.drain(), Lines{"retired 1"});
}

TEST(Retirement, L7_1_AnUnsentAdmissionIsWithdrawn) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.drain();
  lane.retire(a);
  EXPECT_EQ(lane.drain(), (Lines{"withdraw 1:0", "answer 1 RETIRED", "drop 1:0", "close 1"}));
}

}  // namespace
}  // namespace anelane::sched
