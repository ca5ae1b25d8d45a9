// Scenarios of faults, cancellation and retirement with real workers. "Held" is a worker that stops itself
// (SIGSTOP) with its reply in hand; continued, it sends it. The same rules with workers that are actors,
// under a virtual clock: tests/sim and tests/unit/scheduler, by the same numbers.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <sstream>

#include "faulty_lane.h"

namespace faults {
namespace {

// Frame types of src/worker/protocol.h.
enum : int { kLoad = 3, kAdmit = 5, kEvict = 8, kEmbed = 10 };

// A sequence of this many tokens, for the shapes above the first.
std::vector<int32_t> ids_of(size_t length) {
  return std::vector<int32_t>(length, 40);
}

anelane_status embed_long(anelane_model model, size_t length, std::vector<float>* row, anelane_error* err) {
  const std::vector<int32_t> ids = ids_of(length);
  const anelane_tokens item = {ids.data(), ids.size()};
  row->assign(kTinyDim, 0);
  return anelane_embed(model, &item, 1, row->data(), 0, nullptr, in_ms(kBoundMs), err);
}

class Scenario : public FaultyLane {
 protected:
  bool is_held() const {
    return becomes_true(kBoundMs, [&] { return !faults_->armed() && is_stopped(worker_); });
  }
  bool leases_are_gone() const {
    return becomes_true(kBoundMs, [&] { return stats_of(lane_).leased == 0; });
  }
  // Requests of a kind that workers have taken.
  size_t asked(int type) const {
    const std::string start = "in " + std::to_string(type) + ' ';
    const auto lines = faults_->record();
    return static_cast<size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(start); }));
  }
  void start_lease(uint32_t shape, Started* started) {
    anelane_error err = new_error();
    require(anelane_start_lease(model_, shape, in_ms(kBoundMs), count_end, started, &started->op, &err),
            "start_lease", err);
  }
  static bool is_told(const Started& started, anelane_status status) {
    return becomes_true(kBoundMs, [&] { return started.told > 0; }) && started.told == 1 &&
           started.status == status;
  }
};

TEST_F(Scenario, S028_AReplyHeldBeyondTheDeadlineIsDrained) {
  open("embed:freeze");
  faults_->arm();
  std::vector<float> row;
  anelane_error err = new_error();
  EXPECT_EQ(embed_short(model_, 100, &row, &err), ANELANE_DEADLINE_EXCEEDED) << text_of(err);
  ASSERT_TRUE(is_held());
  EXPECT_EQ(stats_of(lane_).leased, 1u) << "the shape is in use while the reply is out";
  let_go();
  EXPECT_TRUE(leases_are_gone());
  EXPECT_EQ(asked(kAdmit), 1u);
  EXPECT_EQ(asked(kEmbed), 2u) << "nothing is sent again";
  expect_unharmed();
}

TEST_F(Scenario, S029_F45_AnAbortedCallerCostsNobodyAnything) {
  open("embed:freeze");
  faults_->arm();
  Started call;
  anelane_error err = new_error();
  require(start_embed_short(model_, kBoundMs, count_end, &call, &call.op, &err), "start", err);
  ASSERT_TRUE(is_held());
  EXPECT_EQ(anelane_op_cancel(call.op), ANELANE_OK);
  EXPECT_TRUE(is_told(call, ANELANE_CANCELLED)) << "the caller need not wait for the reply";
  anelane_op_release(call.op);
  EXPECT_EQ(stats_of(lane_).leased, 1u);
  let_go();
  expect_unharmed();
  EXPECT_TRUE(leases_are_gone());
  EXPECT_EQ(stats_of(lane_).admitted, 1u);
}

TEST_F(Scenario, S031_ACompileWhoseCallerLeftGoesOnAndStays) {
  open("admit:freeze");
  faults_->arm();
  Started call;
  start_lease(256, &call);
  ASSERT_TRUE(is_held());
  EXPECT_EQ(anelane_op_cancel(call.op), ANELANE_OK);
  EXPECT_TRUE(is_told(call, ANELANE_CANCELLED));
  anelane_op_release(call.op);
  EXPECT_EQ(stats_of(lane_).reserved_programs, 2 * kTinyLayers) << "the lane answers, the charge stays";
  let_go();
  expect_unharmed();
  EXPECT_TRUE(leases_are_gone());
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return stats_of(lane_).resident == 2; }));
  EXPECT_EQ(stats_of(lane_).reserved_programs, 2 * kTinyLayers);
  EXPECT_EQ(asked(kAdmit), 2u);
}

// As S031, for the eviction that the caller's admission needed. (A channel that broke in the middle of one:
// tests/unit/lane/worker_link_test.cc.)
TEST_F(Scenario, S032_AnEvictionWhoseCallerLeftIsDrained) {
  open("evict:freeze");
  anelane_error err = new_error();
  for (const uint32_t shape : {64u, 96u, 128u})
    require(anelane_admit(model_, shape, in_ms(kBoundMs), &err), "admit", err);
  faults_->arm();
  Started call;
  start_lease(256, &call);  // the fifth, where four are allowed
  ASSERT_TRUE(is_held());
  EXPECT_EQ(anelane_op_cancel(call.op), ANELANE_OK);
  EXPECT_TRUE(is_told(call, ANELANE_CANCELLED));
  anelane_op_release(call.op);
  EXPECT_EQ(stats_of(lane_).reserved_programs, 4 * kTinyLayers) << "not given back before it is acknowledged";
  let_go();
  expect_unharmed();
  EXPECT_EQ(asked(kEvict), 1u);
  EXPECT_EQ(stats_of(lane_).evicted, 1u);
}

// One step of the scheduler hands a shape out on a worker that is deaf by now, which is noticed at that very
// send, and starts an eviction on another worker for the next shape. That eviction has no cause any more, but
// it is under way: the shape it takes must not be handed out.
TEST_F(Scenario, L3_7_AnEvictionThatWasSentIsNotTakenBackWhenItsCauseDies) {
  open("admit:deaf", 3 * kTinyLayers);
  anelane_error err = new_error();
  const anelane_model other = load_tiny(lane_, place_, "other");
  std::vector<float> others;
  require(embed_long(other, 60, &others, &err), "embed", err);
  faults_->arm();
  ::kill(worker_, SIGSTOP);  // until both have asked
  Started first, second;
  const std::vector<int32_t> ids = ids_of(90);
  const anelane_tokens item = {ids.data(), ids.size()};
  require(anelane_start_embed(model_, &item, 1, in_ms(kBoundMs), count_end, &first, &first.op, &err), "start",
          err);
  start_lease(128, &second);
  ASSERT_TRUE(becomes_true(kBoundMs, [&] { return stats_of(lane_).waiting == 2; }));
  let_go();
  EXPECT_TRUE(is_told(first, ANELANE_ENGINE_CRASHED));
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return second.told > 0; }));
  EXPECT_FALSE(faults_->armed());
  EXPECT_EQ(stats_of(lane_).restarts, 1u);
  std::vector<float> row;
  EXPECT_EQ(embed_long(other, 60, &row, &err), ANELANE_OK) << text_of(err);
  EXPECT_EQ(row, others);
  EXPECT_EQ(embed_well(model_), right_);
  anelane_op_release(first.op);
  anelane_op_release(second.op);
}

// A batch is several exchanges, and whoever came meanwhile is served between two of them.
TEST_F(Scenario, L5_1_AShortCallWaitsForOneExchangeOfALargeBatch) {
  struct Ended {
    std::atomic<int>* count;
    std::atomic<int> place{0};
  };
  const auto take_place = [](void* user, anelane_op, anelane_status status) {
    auto* ended = static_cast<Ended*>(user);
    if (status == ANELANE_OK) ended->place = ++*ended->count;
  };
  open("embed:freeze");
  const std::vector<int32_t> ids = ids_of(30);
  const std::vector<anelane_tokens> items(500, {ids.data(), ids.size()});
  std::atomic<int> count{0};
  Ended batch{&count}, alone{&count};
  anelane_op ops[2];
  anelane_error err = new_error();
  faults_->arm();
  require(anelane_start_embed(model_, items.data(), items.size(), in_ms(kBoundMs), take_place, &batch,
                              &ops[0], &err),
          "start", err);
  ASSERT_TRUE(is_held()) << "with its first exchange";
  require(start_embed_short(model_, kBoundMs, take_place, &alone, &ops[1], &err), "start", err);
  let_go();
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return count == 2; }));
  EXPECT_LT(alone.place, batch.place);
  for (const anelane_op op : ops) anelane_op_release(op);
  expect_unharmed();
}

TEST_F(Scenario, S035_AWorkerThatDropsItsConnectionDuringInference) {
  open("embed:die");
  faults_->arm();
  std::vector<float> row;
  anelane_error err = new_error();
  EXPECT_EQ(embed_short(model_, kBoundMs, &row, &err), ANELANE_ENGINE_CRASHED);
  EXPECT_EQ(err.safe_to_retry, 1u);
  EXPECT_EQ(embed_after_fault(model_), right_);
  EXPECT_EQ(stats_of(lane_).restarts, 1u);
  EXPECT_NE(worker_of(lane_, "tiny"), worker_);
  EXPECT_EQ(asked(kLoad), 2u);
}

TEST_F(Scenario, S035_L7_2_WhileTheExitIsUnconfirmedEverythingStaysCharged) {
  open("");
  ::kill(worker_, SIGSTOP);
  ASSERT_TRUE(becomes_true(kBoundMs, [&] { return is_stopped(worker_); }));
  Started retire;
  anelane_error err = new_error();
  require(anelane_start_retire(model_, in_ms(kBoundMs), count_end, &retire, &retire.op, &err), "retire", err);
  // Asked to leave, it does not move; after a second it is killed.
  const uint32_t charged = stats_of(lane_).reserved_programs;
  if (retire.told == 0) {
    EXPECT_EQ(charged, kTinyLayers);
  }
  EXPECT_TRUE(is_told(retire, ANELANE_OK));
  anelane_op_release(retire.op);
  EXPECT_EQ(stats_of(lane_).reserved_programs, 0u);
  EXPECT_TRUE(children().empty()) << "confirmed means collected";
}

TEST_F(Scenario, S047_TheReplacementIsToldToLoadTheSameUnderAnotherNumber) {
  open("");
  ::kill(worker_, SIGKILL);
  EXPECT_EQ(embed_after_fault(model_), right_);
  std::vector<std::string> ids, bodies;
  for (const std::string& line : faults_->record()) {
    if (!line.starts_with("in " + std::to_string(kLoad) + ' ')) continue;
    std::istringstream words(line);
    std::string in, type, id, bytes, body;
    words >> in >> type >> id >> bytes;
    std::getline(words, body);
    ids.push_back(id);
    bodies.push_back(body);
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_NE(bodies[0].find(place_.model), std::string::npos);
  EXPECT_EQ(bodies[0], bodies[1]);
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(stats_of(lane_).restarts, 1u);
}

TEST_F(Scenario, S050_RetiringWaitsForLeasesAndTellsThoseWhoQueue) {
  open("");
  anelane_error err = new_error();
  std::vector<anelane_lease> leases;
  for (const uint32_t shape : {32u, 64u, 96u, 128u}) {
    leases.emplace_back();
    require(anelane_lease_acquire(model_, shape, in_ms(kBoundMs), &leases.back(), &err), "lease", err);
  }
  Started queued, retire;
  start_lease(256, &queued);
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return stats_of(lane_).waiting == 1; }));
  EXPECT_EQ(queued.told, 0);
  require(anelane_start_retire(model_, in_ms(kBoundMs), count_end, &retire, &retire.op, &err), "retire", err);
  EXPECT_TRUE(is_told(queued, ANELANE_RETIRED)) << "at once (L7.2)";
  EXPECT_EQ(stats_of(lane_).reserved_programs, 4 * kTinyLayers);
  EXPECT_EQ(retire.told, 0) << "leases are drained first";
  for (const anelane_lease lease : leases) anelane_lease_release(lease);
  EXPECT_TRUE(is_told(retire, ANELANE_OK));
  EXPECT_EQ(stats_of(lane_).reserved_programs, 0u);
  EXPECT_EQ(stats_of(lane_).restarts, 0u);
  anelane_op_release(queued.op);
  anelane_op_release(retire.op);
}

// An engine that is full of somebody else's programs: so many restarts would be a quarantine, were they
// crashes.
TEST_F(Scenario, L4_15_L6_4_PlannedRestartsAreNoCrashes) {
  open("admit:refuse");
  std::vector<float> row;
  anelane_error err = new_error();
  for (uint32_t restarts = 1; restarts <= 6; ++restarts) {
    faults_->arm();
    EXPECT_EQ(embed_long(model_, 40, &row, &err), ANELANE_RESOURCES_EXHAUSTED) << text_of(err);
    faults_->disarm();
    ASSERT_EQ(embed_short(model_, kBoundMs, &row, &err), ANELANE_OK) << restarts << ": " << text_of(err);
    EXPECT_EQ(row, right_);
    EXPECT_EQ(stats_of(lane_).restarts, restarts);
  }
  worker_ = worker_of(lane_, "tiny");
}

// Nothing of the model's is at fault when the host has no descriptor left: no quarantine of a minute.
TEST_F(Scenario, L6_4_AHostWithoutDescriptorsGetsItsModelBackWhenThereAreSomeAgain) {
  open("");
  rlimit files = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none = {3, files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ::kill(worker_, SIGKILL);
  std::vector<float> row;
  anelane_error err = new_error();
  // Told after some tries, not at the end of its time.
  const bool told = becomes_true(kBoundMs, [&] {
    return embed_short(model_, kBoundMs, &row, &err) == ANELANE_ENGINE_CRASHED &&
           std::string(err.message).find("no worker can be started") != std::string::npos;
  });
  const uint64_t retry_after_ms = err.retry_after_ms;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_TRUE(told) << text_of(err);
  EXPECT_NE(std::string(err.message).find("Too many open files"), std::string::npos) << text_of(err);
  EXPECT_GT(retry_after_ms, 0u);
  EXPECT_LE(retry_after_ms, 10'000u);
  const uint64_t start = anelane_now_ns();
  EXPECT_EQ(embed_after_fault(model_), right_);
  std::printf("back after %llu ms: %s\n", static_cast<unsigned long long>(ms_since(start)), err.message);
  EXPECT_LT(ms_since(start), 40'000u) << "ten seconds at most, on a busy machine";
}

}  // namespace
}  // namespace faults
