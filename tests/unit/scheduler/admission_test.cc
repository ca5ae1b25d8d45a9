// Errors, refusals, hand-off: L4.13, L4.15, L4.16.
#include "bench_lane.h"

namespace anelane::sched {
namespace {

TEST(Admission, S238_AnAnsweredErrorFreesGateAndChargeAtOnce) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.request(2, b, 0);
  lane.sent(a, 0);
  lane.drain();
  lane.failed(a, 0, Code::kCompileFailed);
  EXPECT_EQ(lane.drain(), (Lines{"answer 1 COMPILE_FAILED", "compile 2:0"}));
  EXPECT_EQ(lane.charged(), 4u);
}

TEST(Admission, L4_16_ADeterministicErrorIsRememberedFor15Seconds) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.failed(a, 0, Code::kCompileFailed, true);
  lane.drain();
  lane.at(14'999.999).request(2, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 2 COMPILE_FAILED"});
  lane.at(15'000).request(3, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:0"});
}

TEST(Admission, S019_RefusedWithoutAVictimIsRefundedWithoutARestart) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);
  lane.request(2, a, 1);
  lane.sent(a, 1);
  lane.drain();
  lane.failed(a, 1, Code::kResourcesExhausted);
  EXPECT_EQ(lane.drain(), Lines{"answer 2 RESOURCES_EXHAUSTED 250"});
  EXPECT_EQ(lane.charged(), 4u);
}

TEST(Admission, S043_RefusedAgainAfterAnEvictionAnswersThenRestartsWhenDrained) {
  BenchLane lane;
  const WorkerId a = lane.model(4, {-1, -1, -1});
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.done(a, 0);  // leased
  lane.make_resident(a, 1, 2);
  lane.request(3, a, 2);
  lane.sent(a, 2);
  lane.drain();
  lane.failed(a, 2, Code::kResourcesExhausted);
  EXPECT_EQ(lane.drain(), Lines{"evict 1:1"});
  lane.evict_sent(a, 1);
  lane.evicted(a, 1);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:2"});
  lane.sent(a, 2);
  lane.failed(a, 2, Code::kResourcesExhausted);
  EXPECT_EQ(lane.drain(), Lines{"answer 3 RESOURCES_EXHAUSTED 250"});
  EXPECT_EQ(lane.charged(), 8u);
  lane.release(a, 0);
  EXPECT_EQ(lane.drain(), Lines{"recover 1"});
  lane.exit(a);
  EXPECT_EQ(lane.drain(), Lines{"spawn 1.2"});
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Admission, S041_AFailedEvictionOnTheSameWorkerAnswersTheRefusedRequest) {
  BenchLane lane(BenchLane::options_with(8));
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.sent(a, 1);
  lane.failed(a, 1, Code::kResourcesExhausted);
  lane.evict_sent(a, 0);
  lane.drain();
  lane.evicted(a, 0, Code::kInternal);
  EXPECT_EQ(lane.drain(), (Lines{"answer 2 RESOURCES_EXHAUSTED 250", "recover 1"}));
  lane.exit(a);
  EXPECT_EQ(lane.charged(), 0u);
}

TEST(Admission, L4_15_ReclaimIsWaitedForBeforeTheRetry) {
  Options o;
  o.reclaim = BenchLane::ms(300);
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1, -1});
  lane.make_resident(a, 0, 1);
  lane.request(2, a, 1);
  lane.sent(a, 1);
  lane.failed(a, 1, Code::kResourcesExhausted);
  lane.evict_sent(a, 0);
  lane.evicted(a, 0);
  lane.drain();
  const double t = static_cast<double>(lane.now) / 1000;
  lane.at(t + 299.999);
  EXPECT_TRUE(lane.drain().empty());
  lane.at(t + 300);
  EXPECT_EQ(lane.drain(), Lines{"compile 1:1"});
}

TEST(Admission, L4_16_WhatIsResidentIsServedThoughTheProgramFailedElsewhere) {
  BenchLane lane;
  const auto model = [&] {
    WorkerSpec spec;
    spec.program = "p";
    spec.layers = 4;
    spec.ladder = {128};
    spec.seed_compile.fill(kUnknown);
    spec.seed_load.fill(kUnknown);
    const WorkerId w = lane.scheduler.add_worker(spec);
    lane.ready(w, 1);
    return w;
  };
  const WorkerId a = model(), b = model();
  lane.make_resident(b, 0, 1);
  lane.request(2, a, 0);
  lane.sent(a, 0);
  lane.failed(a, 0, Code::kCompileFailed, true);
  lane.drain();
  lane.request(3, b, 0);
  EXPECT_EQ(lane.drain(), Lines{"grant 3"});
  lane.request(4, a, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 4 COMPILE_FAILED"});
}

TEST(Admission, L4_16_WorkersOfOneProgramShareTheMemoryAndOthersDoNot) {
  BenchLane lane;
  const auto model = [&](const std::string& program) {
    WorkerSpec spec;
    spec.program = program;
    spec.layers = 4;
    spec.ladder = {128, 256};
    spec.seed_compile.fill(kUnknown);
    spec.seed_load.fill(kUnknown);
    const WorkerId w = lane.scheduler.add_worker(spec);
    lane.ready(w, 1);
    return w;
  };
  const WorkerId a = model("p"), b = model("p"), other = model("q"), none = model("");
  lane.request(1, a, 0);
  lane.sent(a, 0);
  lane.failed(a, 0, Code::kCompileFailed, true);
  lane.drain();
  lane.request(2, b, 0);
  EXPECT_EQ(lane.drain(), Lines{"answer 2 COMPILE_FAILED"});
  lane.request(3, b, 1);  // another rung
  EXPECT_EQ(lane.drain(), Lines{"compile 2:1"});
  lane.request(4, other, 0);
  lane.request(5, none, 0);
  EXPECT_TRUE(lane.drain().empty());  // they queue
  lane.at(15'000).request(6, b, 0);
  EXPECT_TRUE(lane.drain().empty());
}

TEST(Admission, L4_15_AVictimWhoseProcessIsClosedFirstIsGoneAllTheSame) {
  Options o;
  o.drain = BenchLane::ms(1000);
  BenchLane lane(o);
  const WorkerId a = lane.model(4, {-1}), b = lane.model(4, {-1, -1});
  lane.make_resident(b, 1, 1);
  lane.request(2, b, 0);
  lane.sent(b, 0);
  lane.done(b, 0);  // leased, and in use
  lane.request(3, a, 0);
  lane.sent(a, 0);
  lane.drain();
  lane.failed(a, 0, Code::kResourcesExhausted);
  EXPECT_EQ(lane.drain(), Lines{"evict 2:1"});  // it waits for the stream
  lane.retire(b);
  lane.at(5000);
  EXPECT_EQ(lane.drain(), Lines{"close 2"});
  lane.exit(b);
  EXPECT_EQ(lane.drain(), (Lines{"compile 1:0", "retired 2"}));
}

}  // namespace
}  // namespace anelane::sched
