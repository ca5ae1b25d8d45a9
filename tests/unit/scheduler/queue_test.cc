// Order of the queue: L4.2, L4.3, L4.10, L4.11.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

constexpr double kSecond = 1000;

TEST(Queue, S202_ALoneKnownCostStartsWhenItHasSettled) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {10 * kSecond});
  lane.at(5000).request(1, a, 0);
  lane.at(5049.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(5050);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
}

TEST(Queue, S203_AnUnknownCostDoesNotSettle) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
}

TEST(Queue, S205_KeysAreFixedAtArrivalAndLowestGoesFirst) {
  BenchLane lane;
  const WorkerId busy = lane.model(4, {200 * kSecond});
  const WorkerId w = lane.model(4, {100 * kSecond});
  const WorkerId a = lane.model(4, {4 * kSecond});
  const WorkerId b = lane.model(4, {4 * kSecond});
  const WorkerId c = lane.model(4, {1 * kSecond});
  lane.request(1, busy, 0);
  lane.at(50).sent(busy, 0);
  lane.at(100).request(2, w, 0);
  lane.at(95 * kSecond).request(3, a, 0);
  lane.at(97 * kSecond).request(4, b, 0);
  lane.at(101 * kSecond).request(5, c, 0);
  lane.drain();
  lane.at(200 * kSecond).done(busy, 0);
  Lines started{lane.drain()[1]};
  const auto finish = [&](WorkerId worker) {
    lane.sent(worker, 0);
    lane.done(worker, 0);
    for (const std::string& line : lane.drain())
      if (line.starts_with("compile")) started.push_back(line);
  };
  finish(a);
  finish(w);
  finish(b);
  EXPECT_EQ(started, (Lines{"compile 3:0", "compile 2:0", "compile 4:0", "compile 5:0"}));
}

TEST(Queue, S250_TogetherTheSmallOneGoesFirst) {
  BenchLane lane;
  const WorkerId wide = lane.model(4, {100 * kSecond});
  const WorkerId small = lane.model(4, {5 * kSecond});
  lane.request(1, wide, 0);
  lane.at(10).request(2, small, 0);
  lane.at(50);
  EXPECT_TRUE(lane.drain().empty());  // the lower key has not settled
  lane.at(60);
  EXPECT_EQ(lane.drain(), Lines{"compile 2:0"});
}

TEST(Queue, L4_3_TheGateWaitsForALowerKeyAtMostOneSettle) {
  BenchLane lane;
  const WorkerId wide = lane.model(4, {100 * kSecond});
  std::vector<WorkerId> small;
  for (int i = 0; i < 4; ++i) small.push_back(lane.model(4, {5 * kSecond - i * 1000}));
  lane.request(1, wide, 0);
  // Each arrives before the one before it has settled, with a lower key.
  lane.at(40).request(2, small[0], 0);
  lane.at(80).request(3, small[1], 0);
  lane.at(95).request(4, small[2], 0);
  EXPECT_EQ(lane.drain(), Lines{});
  lane.at(100);  // wide settled at 50, small[0] settled at 90: the lowest settled key
  EXPECT_EQ(lane.drain(), Lines{"compile 2:0"});
}

TEST(Queue, S221_ANewEntryIsPlacedBehindTheOneItWouldCostItsBound) {
  for (const double cost : {20.0, 9.0}) {
    BenchLane lane;
    const WorkerId busy = lane.model(4, {500 * kSecond});
    const WorkerId x = lane.model(4, {90 * kSecond});
    const WorkerId y = lane.model(4, {cost * kSecond});
    lane.request(1, busy, 0);
    lane.at(50).sent(busy, 0);
    lane.request(2, x, 0);  // predicted ready at 590 s; its bound is 600.05 s
    lane.at(1000).request(3, y, 0);
    lane.drain();
    lane.at(500 * kSecond + 50).done(busy, 0);
    EXPECT_EQ(lane.drain()[1], cost > 10 ? "compile 2:0" : "compile 3:0");
  }
}

TEST(Queue, S217_S218_APromiseHoldsTwiceItsDelayAndIsRenewed) {
  for (const bool retried : {false, true}) {
    BenchLane lane;
    const WorkerId busy = lane.model(4, {120 * kSecond});
    const WorkerId x = lane.model(4, {30 * kSecond});
    lane.request(1, busy, 0);
    lane.at(50).sent(busy, 0);
    lane.at(10'050).request(2, x, 0, 70'000);
    EXPECT_EQ(lane.drain().back(), "answer 2 SHAPE_COMPILING 140000");
    double end = 10'050 + 280'000;
    if (retried) {
      lane.at(100'050).request(3, x, 0, 101'000);
      EXPECT_EQ(lane.drain(), Lines{"answer 3 SHAPE_COMPILING 50000"});
      end = 100'050 + 100'000;
    }
    lane.at(end - 0.001);
    EXPECT_TRUE(lane.drain().empty());
    lane.at(end);
    EXPECT_EQ(lane.drain(), Lines{"drop 2:0"});
  }
}

TEST(Queue, S214_ThePromisedCompileIsReadyForTheRetry) {
  BenchLane lane;
  const WorkerId busy = lane.model(4, {120 * kSecond});
  const WorkerId x = lane.model(4, {30 * kSecond});
  lane.request(1, busy, 0);
  lane.at(50).sent(busy, 0);
  lane.at(10'050).request(2, x, 0, 70'000);
  lane.at(120'050).done(busy, 0);
  EXPECT_EQ(lane.drain().back(), "compile 2:0");
  lane.sent(x, 0);
  lane.at(150'050).done(x, 0);
  lane.at(151'000).request(3, x, 0);
  EXPECT_EQ(lane.drain(), Lines{"grant 3"});
}

TEST(Queue, L4_10_WithoutAPromiseItIsDroppedWhenItsLastTicketLeaves) {
  BenchLane lane;
  const WorkerId busy = lane.model(4, {-1});
  const WorkerId x = lane.model(4, {30 * kSecond});
  lane.request(1, busy, 0);
  lane.request(2, x, 0);
  lane.drain();
  lane.cancel(2);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 CANCELLED", "drop 2:0"}));
}

TEST(Queue, L4_11_EntriesThatReturnTogetherDoNotOvertakeEachOtherAtAnAcceptedRequestsCost) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {200.0, 1000.0});
  lane.fault(a);
  lane.exit(a);
  lane.request(1, a, 1, 1250);
  lane.request(2, a, 0);
  lane.drain();
  lane.at(100).ready(a, 2);  // ready at 1100, or at 1300 behind the other
  EXPECT_EQ(lane.drain(), Lines{"compile 1:1"});
}

}  // namespace
}  // namespace anelane::sched
