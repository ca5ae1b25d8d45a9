// Early answers: L4.6, L4.9.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

constexpr double kSecond = 1000;

struct BusyLane : BenchLane {
  BusyLane() {
    busy = model(4, {120 * kSecond});
    request(1, busy, 0);
    at(50).sent(busy, 0);
  }
  WorkerId busy;
};

TEST(Forecast, S215_BeyondTheAdmissionBoundIsAnsweredAtOnceAndExactlyAtItWaits) {
  for (const double cost : {480.0, 480.001}) {
    BusyLane lane;
    const WorkerId x = lane.model(4, {cost * kSecond});
    lane.drain();
    lane.request(2, x, 0);
    EXPECT_EQ(lane.drain(), cost > 480 ? Lines{"answer 2 SHAPE_COMPILING 600001"} : Lines{});
  }
}

TEST(Forecast, S247_CostsAheadAddUpAndAnOverdueHolderCountsAsNothing) {
  BusyLane lane;
  const WorkerId x = lane.model(4, {30 * kSecond});
  const WorkerId y = lane.model(4, {40 * kSecond});
  lane.request(2, x, 0);
  lane.request(3, y, 0);
  EXPECT_EQ(lane.scheduler.predict(lane.now, y, 0), BenchLane::ms(190 * kSecond));
  lane.at(130 * kSecond);
  EXPECT_EQ(lane.scheduler.predict(lane.now, y, 0), BenchLane::ms(70 * kSecond));
}

TEST(Forecast, L4_9_AnOverdueHolderMakesTheRetryAtLeast250) {
  BusyLane lane;
  const WorkerId x = lane.model(4, {0.01});
  lane.drain();
  lane.at(130 * kSecond).request(2, x, 0, 130 * kSecond);
  EXPECT_EQ(lane.drain(), Lines{"answer 2 SHAPE_COMPILING 250"});
}

TEST(Forecast, L4_9_AnUnknownCostIsPredictedAsTheLeastThatCanBeSaid) {
  BenchLane lane;
  const WorkerId x = lane.model(4, {-1});
  EXPECT_EQ(lane.scheduler.predict(lane.now, x, 0), BenchLane::ms(250));
}

TEST(Forecast, L4_9_RoundsUpToWholeMilliseconds) {
  BenchLane lane;
  const WorkerId x = lane.model(4, {0.001});
  lane.request(1, x, 0, 10);
  EXPECT_EQ(lane.drain(), Lines{"answer 1 SHAPE_COMPILING 51"});
}

TEST(Forecast, S248_EntriesOfRecoveringWorkersAreNotCounted) {
  BusyLane lane;
  const WorkerId x = lane.model(4, {30 * kSecond});
  const WorkerId y = lane.model(4, {40 * kSecond});
  lane.request(2, x, 0);
  lane.request(3, y, 0);
  lane.fault(x);
  EXPECT_EQ(lane.scheduler.predict(lane.now, y, 0), BenchLane::ms(160 * kSecond));
}

TEST(Forecast, S212_TheHeadIsCheckedBeforeAnythingIsEvicted) {
  BenchLane lane(BenchLane::options_with(4));
  const WorkerId a = lane.model(4, {-1, 30 * kSecond});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1, 40 * kSecond);
  lane.drain();
  lane.at(20 * kSecond);
  lane.release(a, 0);
  const Lines lines = lane.drain();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[0], "answer 2 SHAPE_COMPILING 30000");
  EXPECT_EQ(lines[1], "evict 1:0");  // the promise is kept all the same
}

TEST(Forecast, S233_ALoadThatRunsTooLongIsRepricedAndHoldsTheCompileGate) {
  BenchLane lane;
  const WorkerId a = lane.model(25, {10 * kSecond}, 1);  // load predicted 500 ms
  const WorkerId b = lane.model(4, {5 * kSecond});
  lane.request(1, a, 0);
  lane.at(50).sent(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"load 1:0"});
  lane.at(2049).request(2, b, 0, 9000);
  lane.at(2049.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(2050);
  // 8 s remain of the compile, 5 s are its own.
  EXPECT_EQ(lane.drain(), Lines{"answer 2 SHAPE_COMPILING 13000"});
  lane.at(9000);
  EXPECT_TRUE(lane.drain().empty());
  lane.done(a, 0);
  EXPECT_EQ(lane.drain(), (Lines{"grant 1", "compile 2:0"}));
}

}  // namespace
}  // namespace anelane::sched
