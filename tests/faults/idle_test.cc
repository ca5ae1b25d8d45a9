// A lane that nobody uses, and its end: no thread of host or workers wakes up, a close in good order is one,
// and a worker that ignores everything holds up no close, whatever deadline it was given. Times are printed,
// and judged against hanging only (scripts/bench has the figures).
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "host.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"
#include "wakeups.h"

namespace faults {
namespace {

constexpr size_t kLoaded = 4;
constexpr uint64_t kForcedMs = 3'000;
constexpr uint64_t kSlackMs = 4'000;  // of a busy machine

class Idle : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok()); }
  // Four models that have worked, each with its shape resident.
  void open(const LaneFolder& faults) {
    anelane_lane_options options = options_in(place_);
    options.worker_path = faults.worker().c_str();
    lane_ = open_lane(options);
    for (size_t i = 0; i < kLoaded; ++i) {
      const std::string name = "m" + std::to_string(i);
      const anelane_model model = load_tiny(lane_, place_, name.c_str());
      embed_well(model);
      workers_.push_back(worker_of(lane_, name));
      ASSERT_GT(workers_.back(), 0);
    }
    ASSERT_EQ(stats_of(lane_).resident, kLoaded);
  }
  std::vector<pid_t> everybody() const {
    std::vector<pid_t> all = workers_;
    all.push_back(::getpid());
    return all;
  }
  // Nobody has woken up for two seconds.
  bool becomes_quiet() const {
    for (int i = 0; i < 30; ++i) {
      const auto before = context_switches(everybody());
      std::this_thread::sleep_for(std::chrono::seconds(2));
      if (wakeups_since(before, everybody()) == 0) return true;
    }
    return false;
  }
  uint64_t close_ms(uint64_t deadline) {
    anelane_error err = new_error();
    const uint64_t start = anelane_now_ns();
    EXPECT_EQ(anelane_lane_close(lane_, deadline, &err), ANELANE_OK) << text_of(err);
    return ms_since(start);
  }
  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
  anelane_lane lane_ = {};
  std::vector<pid_t> workers_;
};

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they have threads of their own
TEST_F(Idle, NobodyWakesUpInALaneOfFourModelsThatNobodyUses) {
  const LaneFolder faults(place_.lane, "");
  open(faults);
  ASSERT_TRUE(becomes_quiet()) << "it never comes to rest";
  const auto before = context_switches(everybody());
  ASSERT_GT(before.size(), workers_.size() * 2) << "the kernel does not tell";
  std::this_thread::sleep_for(std::chrono::seconds(10));
  EXPECT_EQ(wakeups_since(before, everybody()), 0u) << "of " << before.size() << " threads in 10 s";
  // That it would have been seen.
  stats_of(lane_);
  EXPECT_GT(wakeups_since(before, everybody()), 0u);
  close_lane(lane_);
}
#endif

TEST_F(Idle, L7_3_ACloseInGoodOrderWaitsForNothing) {
  const LaneFolder faults(place_.lane, "");
  open(faults);
  const uint64_t ms = close_ms(ANELANE_NO_DEADLINE);
  std::printf("closed with four models in %llu ms\n", static_cast<unsigned long long>(ms));
  EXPECT_LT(ms, kSlackMs);
  EXPECT_TRUE(children().empty());
}

TEST_F(Idle, L7_3_L6_5_WorkersThatIgnoreEverythingEndByForce) {
  const LaneFolder faults(place_.lane, "stop:stall", LaneFolder::Happens::kAlways);
  open(faults);
  const uint64_t ms = close_ms(ANELANE_NO_DEADLINE);  // their engines never end; their control threads do
  std::printf("closed with four stuck engines in %llu ms\n", static_cast<unsigned long long>(ms));
  EXPECT_LT(ms, kForcedMs + kSlackMs);
  EXPECT_TRUE(children().empty());
}

TEST_F(Idle, L7_3_L6_5_StoppedWorkersAreKilledEvenWithoutADeadline) {
  const LaneFolder faults(place_.lane, "");
  open(faults);
  for (const pid_t worker : workers_) ::kill(worker, SIGSTOP);
  const uint64_t ms = close_ms(ANELANE_NO_DEADLINE);
  std::printf("closed with four stopped workers in %llu ms\n", static_cast<unsigned long long>(ms));
  EXPECT_LT(ms, kForcedMs + kSlackMs);
  EXPECT_TRUE(children().empty());
}

}  // namespace
}  // namespace faults
