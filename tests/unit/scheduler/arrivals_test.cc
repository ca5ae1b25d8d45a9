// Requests: at once, joining, cancelled, at their bound.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

TEST(Arrivals, L3_4_OneAdmissionServesAllThatJoin) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.request(2, a, 0);
  lane.sent(a, 0);
  lane.request(3, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"grant 1", "grant 2", "grant 3"}));
  EXPECT_EQ(lane.scheduler.gate(a, 0).leases(), 3u);
}

TEST(Arrivals, S245_AResidentShapeIsLeasedWithoutTheScheduler) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.make_resident(a, 0, 1);
  EXPECT_NE(lane.scheduler.gate(a, 0).try_lease(lane.scheduler.coarse_now()), 0u);
}

TEST(Arrivals, L2_4_AShapeThatCanNeverFitIsRefusedForGood) {
  BenchLane lane(BenchLane::options_with(21));
  const WorkerId a = lane.model(22, {-1});
  lane.request(1, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 1 RESOURCES_EXHAUSTED"});
}

TEST(Arrivals, L2_4_NoMoreThanMaxWaitingWait) {
  Options o;
  o.max_waiting = 2;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1});
  for (TicketId id = 1; id <= 3; ++id) lane.request(id, a, 0);
  EXPECT_EQ(lane.drain().back(), "answer 3 RESOURCES_EXHAUSTED 250");
}

TEST(Arrivals, F46_CancelAnswersOnceAndOnlyThatTicket) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.request(2, a, 0);
  lane.sent(a, 0);
  lane.drain();
  lane.cancel(1);
  lane.cancel(1);
  EXPECT_EQ(lane.drain(), Lines{"answer 1 CANCELLED"});
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"grant 2"});
}

TEST(Arrivals, S244_ACompileWhoseOnlyCallerLeftRunsOnAndBecomesResident) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.cancel(1);
  lane.drain();
  lane.done(a, 0);
  EXPECT_TRUE(lane.drain().empty());
  lane.request(2, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"grant 2"});
}

TEST(Arrivals, S010_NoRoomUntilTheBoundIsResourcesExhausted) {
  Options o = BenchLane::options_with(4);
  o.admission_bound = BenchLane::ms(20);
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.drain();
  lane.request(2, a, 1);
  lane.at(19.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(20);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 RESOURCES_EXHAUSTED 250", "drop 1:1"}));
  lane.release(a, 0);
  lane.request(3, a, 1);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:0"});
}

TEST(Arrivals, L4_12_ItsOwnDeadlineMakesItDeadlineExceeded) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1, 30);
  lane.drain();
  lane.at(30);
  EXPECT_EQ(lane.drain().front(), "answer 2 DEADLINE_EXCEEDED");
}

TEST(Arrivals, S022_AtItsDeadlineBehindACompileTheAnswerSaysHowLong) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.request(2, a, 0, 300);
  lane.drain();
  lane.at(300);
  EXPECT_EQ(lane.drain(), Lines{"answer 2 SHAPE_COMPILING 250"});
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"grant 1"});
}

TEST(Arrivals, L3_6_AnOfferIsTakenOrLostAndTheTicketQueuesAnew) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0, -1, false);
  lane.sent(a, 0);
  lane.at(10).done(a, 0);
  lane.request(2, a, 1);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "offer 1"}));  // protected: no eviction for 2
  lane.at(259.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(260);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:0"});
  lane.take(1);
  EXPECT_TRUE(lane.drain().empty());
  lane.evict_sent(a, 0);
  lane.evicted(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:1"});
}

TEST(Arrivals, L3_6_FromTheSecondOfferOnProtectionLastsLeaseMax) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0, -1, false);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1);
  lane.at(250);  // lost, evicted for 2
  lane.evict_sent(a, 0);
  lane.evicted(a, 0);
  lane.take(1);  // queues anew
  lane.sent(a, 1);
  lane.done(a, 1);
  lane.at(300).release(a, 1);  // settled
  lane.evict_sent(a, 1);
  lane.evicted(a, 1);
  lane.sent(a, 0);
  lane.done(a, 0);
  EXPECT_EQ(lane.drain().back(), "offer 1");
  lane.request(3, a, 1);
  lane.at(30'299.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.take(1);
  EXPECT_EQ(lane.drain(), Lines{"grant 1"});
}

}  // namespace
}  // namespace anelane::sched
