// Prewarm: L9.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

void serve(BenchLane& lane, WorkerId w, uint32_t rung) {
  lane.sent(w, rung);
  lane.done(w, rung);
}

TEST(Prewarm, S251_TheSmallRungsOneByOneIntoFreeRoom) {
  BenchLane lane;
  const WorkerId a = lane.model(22, {1.0, 2.0, 3.0, 4.0}, 0, true);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  serve(lane, a, 0);
  serve(lane, a, 1);
  serve(lane, a, 2);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:1", "compile 1:2", "prewarm 1 loaded=7 resident=0 skipped=0"}));
  EXPECT_EQ(lane.charged(), 66u);
}

TEST(Prewarm, L9_1_TheFirstThatDoesNotFitEndsIt) {
  BenchLane lane(BenchLane::options_with(30));
  const WorkerId a = lane.model(22, {1.0, 2.0, 3.0}, 0, true);
  serve(lane, a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "prewarm 1 loaded=1 resident=0 skipped=6"}));
}

TEST(Prewarm, S254_ALeaseOrAWaitingRequestPausesIt) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1, -1}, 0, true);
  lane.sent(a, 0);
  lane.request(1, a, 0);
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "grant 1"}));
  lane.release(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:1"});
}

TEST(Prewarm, S256_RetireWithdrawsAnUnsentOneAndLetsASentOneFinish) {
  for (const bool on_wire : {false, true}) {
    BenchLane lane;
    const WorkerId a = lane.model(4, {-1, -1}, 0, true);
    if (on_wire) lane.sent(a, 0);
    lane.drain();
    lane.retire(a);
    if (!on_wire) {
      EXPECT_EQ(lane.drain(),
                (Lines{"withdraw 1:0", "prewarm 1 loaded=0 resident=0 skipped=0 cancelled", "close 1"}));
      continue;
    }
    EXPECT_TRUE(lane.drain().empty());
    lane.done(a, 0);
    EXPECT_EQ(lane.drain(), (Lines{"prewarm 1 loaded=1 resident=0 skipped=0 cancelled", "close 1"}));
  }
}

TEST(Prewarm, S257_AnErrorEndsItWithoutARestart) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1}, 0, true);
  lane.sent(a, 0);
  lane.drain();
  lane.failed(a, 0, Code::kCompileFailed);
  EXPECT_EQ(lane.drain(), Lines{"prewarm 1 loaded=0 resident=0 skipped=0"});
}

TEST(Prewarm, L9_1_OneAtATimeInTheLaneInTheOrderOfBecomingReady) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}, 0, true), b = lane.model(4, {-1}, 0, true);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  serve(lane, a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"prewarm 1 loaded=1 resident=0 skipped=0", "compile 2:0"}));
  serve(lane, b, 0);
}

}  // namespace
}  // namespace anelane::sched
