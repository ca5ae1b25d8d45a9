// The face: unknown things, stale news, stopping, order of timers.
#include "scheduler/scheduler.h"

#include "bench_lane.h"

namespace anelane::sched {
namespace {

TEST(Scheduler, S241_StoppedSchedulerAnswersWaitingAndNewRequestsAndClosesTheFastPath) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.drain();
  lane.step({.kind = EventKind::kStop});
  EXPECT_EQ(lane.drain(), Lines{"answer 2 ENGINE_CRASHED 1000"});
  EXPECT_EQ(lane.scheduler.gate(a, 0).try_lease(lane.scheduler.coarse_now()), 0u);
  lane.request(3, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 3 ENGINE_CRASHED 1000"});
  EXPECT_EQ(lane.scheduler.next_due(), kNever);
}

TEST(Scheduler, L7_3_StopWithCloseAnswersClosed) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.drain();
  lane.step({.kind = EventKind::kStop, .code = Code::kClosed});
  EXPECT_EQ(lane.drain(), Lines{"answer 1 CLOSED"});
}

TEST(Scheduler, NewsOfAnOlderGenerationAreNoNews) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.fault(a);
  lane.exit(a);
  lane.ready(a, 2);
  lane.request(2, a, 0);
  lane.drain();
  lane.done(a, 0, 1);
  lane.fault(a, 1);
  lane.exit(a, 1);
  EXPECT_TRUE(lane.drain().empty());
  lane.sent(a, 0, 2);
  lane.done(a, 0, 2);
  EXPECT_EQ(lane.drain(), Lines{"grant 2"});
}

TEST(Scheduler, UnknownWorkersTicketsAndRungsDoNoHarm) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, 99, 0);
  lane.request(2, a, 9);
  EXPECT_EQ(lane.drain(), (Lines{"answer 1 RETIRED", "answer 2 SHAPE_UNKNOWN"}));
  lane.cancel(77);
  lane.take(77);
  lane.sent(a, 9);
  lane.done(a, 9);
  lane.evicted(a, 0);
  EXPECT_TRUE(lane.drain().empty());
}

TEST(Scheduler, TenThousandCancelsAreOneAnswerEachAndOneTimer) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, 500'000.0});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  for (TicketId id = 2; id < 10'002; ++id) lane.request(id, a, 1);
  lane.at(1000).drain();
  const Time due = lane.scheduler.next_due();
  for (TicketId id = 2; id < 10'001; ++id) {
    lane.cancel(id);
    ASSERT_EQ(lane.drain().size(), 1u);
    ASSERT_EQ(lane.scheduler.next_due(), due);
  }
  lane.cancel(10'001);
  EXPECT_EQ(lane.drain(), (Lines{"answer 10001 CANCELLED", "drop 1:1"}));
  EXPECT_EQ(lane.scheduler.snapshot(lane.now).waiting, 1u);
}

}  // namespace
}  // namespace anelane::sched
