// Faults and exits: L4.13, L6.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

constexpr double kSecond = 1000;

Options no_back_off() {
  Options o;
  o.back_off = false;
  return o;
}

TEST(Recovery, S236_AnUnknownOutcomeHoldsGateAndChargeUntilTheExit) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.request(2, b, 0);
  lane.sent(a, 0);
  lane.drain();
  lane.at(30 * kSecond).fault(a);
  EXPECT_EQ(lane.drain(), (Lines{"answer 1 ENGINE_CRASHED 1000", "recover 1"}));
  EXPECT_EQ(lane.charged(), 4u);
  lane.at(32 * kSecond).exit(a);
  EXPECT_EQ(lane.drain(), (Lines{"spawn 1.2", "compile 2:0"}));
  EXPECT_EQ(lane.charged(), 4u);
}

TEST(Recovery, L4_13_TheGateIsHeldAtMost35SecondsTheChargeUntilTheExit) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.request(2, b, 0);
  lane.sent(a, 0);
  lane.fault(a);
  lane.drain();
  lane.at(34'999.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(35'000);
  EXPECT_EQ(lane.drain(), Lines{"compile 2:0"});
  EXPECT_EQ(lane.charged(), 8u);
}

TEST(Recovery, L4_13_AnUnsentAdmissionGoesBackWithItsKey) {
  BenchLane lane(no_back_off());
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  lane.fault(a);
  EXPECT_EQ(lane.drain(), (Lines{"withdraw 1:0", "recover 1"}));
  EXPECT_EQ(lane.charged(), 0u);
  lane.exit(a);
  lane.ready(a, 2);
  EXPECT_EQ(lane.drain(), (Lines{"spawn 1.2", "compile 1:0"}));
}

TEST(Recovery, L4_13_TheDaemonGoesOnCompilingWithoutItsClient) {
  Options o = no_back_off();
  o.daemon_goes_on = true;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {10 * kSecond}), b = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.at(50).sent(a, 0);
  lane.request(2, b, 0);
  lane.at(1050).fault(a);
  lane.at(2050).exit(a);
  lane.drain();
  lane.at(10'049.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(10'050);
  EXPECT_EQ(lane.drain(), Lines{"compile 2:0"});
}

TEST(Recovery, S034_OneFaultRestartsAGenerationOnce) {
  BenchLane lane(no_back_off());
  const WorkerId a = lane.model(4, {-1});
  lane.fault(a);
  lane.fault(a);
  EXPECT_EQ(lane.drain(), Lines{"recover 1"});
  lane.exit(a);
  lane.ready(a, 2);
  lane.fault(a, 1);
  EXPECT_EQ(lane.drain(), Lines{"spawn 1.2"});
}

TEST(Recovery, S044_AnUnconfirmedExitClosesTheWorkerAndKeepsItsCharge) {
  BenchLane lane(no_back_off());
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.fault(a);
  lane.request(2, a, 0);
  lane.drain();
  const double t = static_cast<double>(lane.now) / 1000;
  lane.at(t + 30'000);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 ENGINE_CRASHED 1000", "drop 1:0"}));
  lane.request(3, a, 1);
  EXPECT_EQ(lane.drain(), Lines{"answer 3 ENGINE_CRASHED 1000"});
  EXPECT_EQ(lane.charged(), 4u);
  lane.exit(a);
  EXPECT_EQ(lane.drain(), Lines{"spawn 1.2"});
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Recovery, S038_TheHeadWhoseVictimsOwnerBrokeIsServedByTheReplacement) {
  Options o = no_back_off();
  o.executable_budget = 4;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.evict_sent(a, 0);
  lane.drain();
  lane.fault(a);
  EXPECT_EQ(lane.drain(), Lines{"recover 1"});
  EXPECT_EQ(lane.charged(), 4u);
  lane.exit(a);
  lane.ready(a, 2);
  EXPECT_EQ(lane.drain(), (Lines{"spawn 1.2", "compile 1:1"}));
}

TEST(Recovery, L6_3_LeasesAreDrainedBeforeTheProcessIsEndedButNotForEver) {
  Options o = no_back_off();
  o.drain = BenchLane::ms(20);
  o.executable_budget = 8;
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  const SlotGate::Epoch old = lane.scheduler.gate(a, 0).epoch();
  lane.drain();
  lane.fault(a);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(20);
  EXPECT_EQ(lane.drain(), Lines{"recover 1"});
  lane.exit(a);
  EXPECT_FALSE(lane.scheduler.gate(a, 0).valid(old));
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Recovery, L6_4_CrashesBackOffAndFiveInAMinuteQuarantine) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  Generation g = 1;
  std::vector<double> delays;
  for (int i = 0; i < 4; ++i) {
    lane.fault(a, g);
    lane.exit(a, g);
    const double from = static_cast<double>(lane.now) / 1000;
    while (lane.scheduler.snapshot(lane.now).workers[0].generation == g)
      lane.at(static_cast<double>(lane.scheduler.next_due()) / 1000);
    delays.push_back(static_cast<double>(lane.now) / 1000 - from);
    lane.ready(a, ++g);
  }
  EXPECT_EQ(delays, (std::vector<double>{0, 100, 200, 400}));
  lane.drain();
  lane.request(1, a, 0);
  lane.drain();
  lane.fault(a, g);
  lane.exit(a, g);
  lane.drain();
  lane.request(2, a, 0);
  const Lines answered = lane.drain();
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(answered[0], "answer 2 ENGINE_CRASHED 61000");
  const double t = static_cast<double>(lane.now) / 1000;
  lane.at(t + 59'999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(t + 60'000);
  EXPECT_EQ(lane.drain(), Lines{"spawn 1.6"});
  lane.ready(a, 6);
  lane.request(3, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  // Crashed again: until its exit nobody knows when the next one starts, and "in 1 ms" would be a lie.
  lane.fault(a, 6);
  lane.drain();
  lane.request(4, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 4 ENGINE_CRASHED 1000"});
}

// Until the next start, in ms.
double start_comes_in(BenchLane* lane, Generation g) {
  const double from = static_cast<double>(lane->now) / 1000;
  while (lane->scheduler.snapshot(lane->now).workers[0].generation == g)
    lane->at(static_cast<double>(lane->scheduler.next_due()) / 1000);
  return static_cast<double>(lane->now) / 1000 - from;
}

TEST(Recovery, L6_4_AShortageAtTheStartIsNoCrash) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.fault(a);
  lane.exit(a);
  lane.request(1, a, 0);
  lane.drain();
  Generation g = 2;
  std::vector<double> delays;
  for (int i = 0; i < 4; ++i, ++g) {
    lane.start_failed(a, g, Code::kResourcesExhausted);
    delays.push_back(start_comes_in(&lane, g));
  }
  EXPECT_EQ(lane.drain(), (Lines{"spawn 1.3", "spawn 1.4", "spawn 1.5", "spawn 1.6"})) << "it may pass";
  // It lasts: nobody is kept waiting for the end of it.
  lane.start_failed(a, g, Code::kResourcesExhausted);
  EXPECT_EQ(lane.drain(), (Lines{"answer 1 ENGINE_CRASHED 2600", "drop 1:0"}));
  EXPECT_EQ(lane.scheduler.outage(a), Outage::kCannotStart);
  for (int i = 0; i < 5; ++i) {
    delays.push_back(start_comes_in(&lane, g));
    lane.start_failed(a, ++g, Code::kResourcesExhausted);
  }
  EXPECT_EQ(delays, (std::vector<double>{100, 200, 400, 800, 1600, 3200, 6400, 10'000, 10'000}));
  EXPECT_STREQ(lane.scheduler.snapshot(lane.now).workers[0].state, "starting");
  start_comes_in(&lane, g);
  lane.drain();
  lane.ready(a, ++g);
  lane.request(2, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
  EXPECT_EQ(lane.scheduler.outage(a), Outage::kNone);
}

// It starts again, and ends while it loads the model: that is the model's own affair, and no shortage.
TEST(Recovery, L6_4_ACrashEndsAShortage) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.fault(a);
  lane.exit(a);
  Generation g = 2;
  for (int i = 0; i < 6; ++i, ++g) {
    lane.start_failed(a, g, Code::kResourcesExhausted);
    start_comes_in(&lane, g);
  }
  EXPECT_EQ(lane.scheduler.outage(a), Outage::kCannotStart);
  for (int i = 0; i < 5; ++i, ++g) {
    lane.fault(a, g);
    EXPECT_NE(lane.scheduler.outage(a), Outage::kCannotStart);
    lane.exit(a, g);
    if (i < 4) start_comes_in(&lane, g);
  }
  EXPECT_EQ(lane.scheduler.outage(a), Outage::kKeepsEnding);
  EXPECT_EQ(start_comes_in(&lane, --g), 60'000);
}

TEST(Recovery, L6_4_AProbeThatCouldNotBeMadeIsMadeSoon) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  Generation g = 1;
  for (int i = 0; i < 5; ++i) {
    lane.fault(a, g);
    lane.exit(a, g);
    if (i == 4) break;
    start_comes_in(&lane, g);
    lane.ready(a, ++g);
  }
  EXPECT_EQ(lane.scheduler.outage(a), Outage::kKeepsEnding);
  EXPECT_EQ(start_comes_in(&lane, g), 60'000);
  lane.start_failed(a, ++g, Code::kResourcesExhausted);
  EXPECT_EQ(start_comes_in(&lane, g), 100);
  lane.start_failed(a, ++g);  // this one ran, and ended
  EXPECT_EQ(start_comes_in(&lane, g), 60'000);
}

}  // namespace
}  // namespace anelane::sched
