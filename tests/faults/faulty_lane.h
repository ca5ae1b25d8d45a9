// A lane with one tiny model, 32 resident, whose worker has a fault ahead of it.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <vector>

#include "host.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"

namespace faults {

class FaultyLane : public testing::Test {
 protected:
  // `fault` as LaneFolder has it; `budget` 0: the usual one.
  void open(const char* fault, uint32_t budget = 0) {
    ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok());
    faults_ = std::make_unique<LaneFolder>(place_.lane, fault);
    anelane_lane_options options = options_in(place_);
    options.worker_path = faults_->worker().c_str();
    if (budget != 0) options.executable_budget = budget;
    options.settle_ms = 0;
    lane_ = open_lane(options);
    model_ = load_tiny(lane_, place_);
    right_ = embed_well(model_);
    worker_ = worker_of(lane_, "tiny");
    ASSERT_GT(worker_, 0);
  }
  void TearDown() override {
    if (worker_ > 0 && is_stopped(worker_)) let_go();
    close_lane(lane_);
    EXPECT_TRUE(children().empty());
  }
  void let_go() const { ::kill(worker_, SIGCONT); }
  // Nobody gave up the worker of the beginning; it may be at work.
  void expect_same_worker() const {
    EXPECT_EQ(worker_of(lane_, "tiny"), worker_);
    EXPECT_EQ(stats_of(lane_).restarts, 0u);
  }
  // It serves, as if nothing had been.
  void expect_unharmed() const {
    EXPECT_EQ(embed_well(model_), right_);
    expect_same_worker();
  }

  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
  std::unique_ptr<LaneFolder> faults_;
  anelane_lane lane_ = {};
  anelane_model model_ = {};
  std::vector<float> right_;
  pid_t worker_ = 0;
};

}  // namespace faults
