// Workers that live and say nothing more: how each kind is found out long before the time-out of its exchange
// (two minutes for an inference, ten for an admission), and what is left in peace. Each call has no deadline:
// with one, its caller would have left.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "faulty_lane.h"

namespace faults {
namespace {

constexpr uint64_t kNever = 24 * 3'600'000;  // a deadline that is none
constexpr uint64_t kFoundMs = 60'000;        // 10 s, on a busy machine
constexpr uint64_t kStuckMs = 100'000;       // 40 s, on a busy machine

class Hung : public FaultyLane {
 protected:
  // An embed that meets the fault is told `why` in time, and the next worker serves.
  void expect_found_out(const char* why, uint64_t within_ms) {
    faults_->arm();
    std::vector<float> row;
    anelane_error err = new_error();
    const uint64_t start = anelane_now_ns();
    EXPECT_EQ(embed_short(model_, kNever, &row, &err), ANELANE_ENGINE_CRASHED);
    EXPECT_NE(std::string(err.message).find(why), std::string::npos) << text_of(err);
    EXPECT_EQ(err.safe_to_retry, 1u);
    std::printf("after %llu ms: %s\n", static_cast<unsigned long long>(ms_since(start)), err.message);
    EXPECT_LT(ms_since(start), within_ms);
    EXPECT_EQ(embed_after_fault(model_), right_);
    EXPECT_EQ(stats_of(lane_).restarts, 1u);
    EXPECT_NE(worker_of(lane_, "tiny"), worker_);
  }
};

TEST_F(Hung, L6_1_AFrozenProcessIsReplaced) {
  open("embed:freeze");
  expect_found_out("did not answer 5 questions", kFoundMs);
}

TEST_F(Hung, L6_1_ALostReplyIsMissed) {
  open("embed:lose");
  expect_found_out("has not been at the request", kFoundMs);
}

TEST_F(Hung, L6_1_F25_AnEngineStuckInAnInferenceIsReplaced) {
  open("embed:stall");
  expect_found_out("stuck in one layer", kStuckMs);
}

// A caller's own run, on its own thread and in nobody's queue.
TEST_F(Hung, L6_1_L6_5_ARunOnTheCallersThreadDoesNotWaitForAFrozenProcess) {
  open("run:freeze");
  anelane_error err = new_error();
  anelane_lease lease = {};
  require(anelane_lease_acquire(model_, 32, in_ms(kBoundMs), &lease, &err), "lease", err);
  anelane_port ports[4];
  for (anelane_port& port : ports) port.struct_size = sizeof port;
  size_t count = 0;
  require(anelane_model_ports(model_, 32, ports, 4, &count, &err), "ports", err);
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<anelane_tensor> in, out;
  for (uint32_t i = 0; i < count; ++i) {
    bytes.emplace_back(ports[i].bytes);
    (ports[i].is_output != 0 ? out : in).push_back({bytes.back().data(), ports[i].bytes, i, 0});
  }
  faults_->arm();
  const uint64_t start = anelane_now_ns();
  EXPECT_EQ(anelane_run(lease, in.data(), in.size(), out.data(), out.size(), ANELANE_NO_DEADLINE, &err),
            ANELANE_ENGINE_CRASHED);
  std::printf("after %llu ms: %s\n", static_cast<unsigned long long>(ms_since(start)), err.message);
  EXPECT_LT(ms_since(start), kFoundMs);
  anelane_lease_release(lease);
  EXPECT_EQ(embed_after_fault(model_), right_);
}

// An engine thread that is held up in a compile is no hung worker: its control thread says so, for as long as
// that takes (here longer than any silence is borne).
TEST_F(Hung, L6_1_F42_AWorkerInALongCompileIsLeftInPeace) {
  open("admit:stall");
  faults_->arm();
  Started lease;
  anelane_error err = new_error();
  require(anelane_start_lease(model_, 256, in_ms(kNever), count_end, &lease, &lease.op, &err), "lease", err);
  ASSERT_TRUE(becomes_true(kBoundMs, [&] { return !faults_->armed(); }));
  std::this_thread::sleep_for(std::chrono::seconds(16));
  EXPECT_EQ(lease.told, 0);
  expect_same_worker();
  anelane_op_cancel(lease.op);
  anelane_op_release(lease.op);
}

// A debugger, a short stop from a terminal: it goes on where it was.
TEST_F(Hung, L6_1_AStopOfAFewSecondsIsBorne) {
  open("embed:freeze");
  faults_->arm();
  Started call;
  anelane_error err = new_error();
  require(start_embed_short(model_, kNever, count_end, &call, &call.op, &err), "start", err);
  ASSERT_TRUE(becomes_true(kBoundMs, [&] { return is_stopped(worker_); }));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ::kill(worker_, SIGCONT);
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return call.told > 0; }));
  EXPECT_EQ(call.status, ANELANE_OK);
  anelane_op_release(call.op);
  expect_same_worker();
}

}  // namespace
}  // namespace faults
