// L6.4 beyond the life of a lane: what counts as a crash there, and when it is written down. Each test plays
// a host that is started over and over.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "host.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"

namespace faults {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kShape = 128;
constexpr size_t kCrashesMax = 5;

class CrashLoops : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok()); }
  void TearDown() override { close_lane(lane_); }

  void open(const std::string& worker) {
    anelane_lane_options options = options_in(place_);
    options.worker_path = worker.c_str();
    options.lease_max_ms = 600'000;  // nothing here waits for a lease to be looked at
    lane_ = open_lane(options);
  }
  anelane_status load(const Place& place, anelane_model* model) {
    return anelane_model_load(lane_, place.model.c_str(), nullptr, in_ms(kBoundMs), model, &err_);
  }
  // A new host whose worker dies in the first run.
  void live_and_crash_in_a_run(const LaneFolder& faults) {
    open(faults.worker());
    anelane_model model = {};
    ASSERT_EQ(load(place_, &model), ANELANE_OK) << text_of(err_);
    faults.arm();
    EXPECT_EQ(run(model), ANELANE_ENGINE_CRASHED);
  }
  // One run on this thread, on zeroes.
  anelane_status run(anelane_model model) {
    anelane_lease lease = {};
    require(anelane_lease_acquire(model, kShape, in_ms(kBoundMs), &lease, &err_), "lease", err_);
    anelane_port ports[4];
    for (anelane_port& port : ports) port.struct_size = sizeof port;
    size_t count = 0;
    require(anelane_model_ports(model, kShape, ports, 4, &count, &err_), "ports", err_);
    std::vector<std::vector<unsigned char>> buffers;
    std::vector<anelane_tensor> in, out;
    for (uint32_t i = 0; i < count; ++i) {
      buffers.emplace_back(ports[i].bytes);
      (ports[i].is_output != 0 ? out : in).push_back({buffers.back().data(), ports[i].bytes, i, 0});
    }
    const anelane_status status =
        anelane_run(lease, in.data(), in.size(), out.data(), out.size(), in_ms(kBoundMs), &err_);
    anelane_lease_release(lease);
    return status;
  }

  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
  const std::string book_ = place_.lane + "/lane.crashes.json";
  anelane_lane lane_ = {};
  anelane_error err_ = new_error();
};

// A host may end at once when it is told of a crash.
TEST_F(CrashLoops, L6_4_ACrashIsWrittenDownBeforeTheCallerOfARunIsTold) {
  live_and_crash_in_a_run(LaneFolder(place_.lane, "run:die"));
  EXPECT_TRUE(fs::exists(book_));
}

TEST_F(CrashLoops, L6_4_ARunThatEndsWellTakesItsModelOutAtOnce) {
  const LaneFolder faults(place_.lane, "run:die");
  live_and_crash_in_a_run(faults);
  anelane_model model = {};
  close_lane(lane_);
  open(faults.worker());
  ASSERT_EQ(load(place_, &model), ANELANE_OK) << text_of(err_);
  EXPECT_EQ(run(model), ANELANE_OK) << text_of(err_);
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return !fs::exists(book_); }));
}

// The crash that leads into the hold knows how long it is.
TEST_F(CrashLoops, L6_4_TheLastCrashBeforeAHoldSaysHowLongToWait) {
  const LaneFolder faults(place_.lane, "load:die", LaneFolder::Happens::kAlways);
  open(faults.worker());
  anelane_model model = {};
  for (size_t i = 1; i < kCrashesMax; ++i) {
    EXPECT_EQ(load(place_, &model), ANELANE_ENGINE_CRASHED) << i;
    EXPECT_EQ(err_.retry_after_ms, 1'000u) << i << ": " << text_of(err_);
  }
  EXPECT_EQ(load(place_, &model), ANELANE_ENGINE_CRASHED);
  EXPECT_EQ(err_.retry_after_ms, 60'000u) << text_of(err_);
}

TEST_F(CrashLoops, L6_4_TheSamePlaceCountsHoweverItIsWritten) {
  const LaneFolder faults(place_.lane, "load:die", LaneFolder::Happens::kAlways);
  open(faults.worker());
  const std::string& path = place_.model;
  const std::string ways[] = {path, path + "/", path + "//", path + "/.", path + "/../tiny"};
  anelane_model model = {};
  for (const std::string& way : ways)
    EXPECT_EQ(load({place_.lane, place_.cache, way}, &model), ANELANE_ENGINE_CRASHED) << way;
  EXPECT_EQ(err_.retry_after_ms, 60'000u) << text_of(err_);
}

// An install of two builds says so each time, and is told what to do: that is no crash.
TEST_F(CrashLoops, L6_4_AWorkerOfAnotherBuildIsNoCrash) {
  const std::string other = folder_.file("other-build");
  std::ofstream(other) << "#!/bin/sh\nFAKE_WORKER=wrong_build exec '" ANELANE_FAKE_WORKER "'\n";
  fs::permissions(other, fs::perms::owner_all);
  open(other);
  anelane_model model = {};
  for (size_t i = 0; i <= kCrashesMax; ++i) {
    EXPECT_NE(load(place_, &model), ANELANE_OK);
    EXPECT_EQ(err_.error_class, ANELANE_PERMANENT) << i << ": " << text_of(err_);
    EXPECT_NE(std::string(err_.message).find("install both from the same build"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(book_));
}

// A service manager asks every process of a service to end, and `timeout` its whole group: the host ends in
// its own order, and its workers with it.
TEST_F(CrashLoops, L6_4_AskedToEndTogetherWithItsHostAWorkerServesTheHostToItsEnd) {
  const LaneFolder faults(place_.lane, "");
  open(faults.worker());
  const anelane_model model = load_tiny(lane_, place_);
  ASSERT_EQ(::kill(worker_of(lane_, "tiny"), SIGTERM), 0);
  embed_well(model);
  EXPECT_EQ(stats_of(lane_).restarts, 0u);
  EXPECT_FALSE(fs::exists(book_));
}

// A disk that is full, say: a book that cannot be brought up to date holds nobody.
TEST_F(CrashLoops, L6_4_AModelThatServesIsNotHeldWhereTheBookCannotBeWritten) {
  const LaneFolder faults(place_.lane, "load:die");
  const Place other = {place_.lane, place_.cache, folder_.file("other")};
  ASSERT_TRUE(anelane::write_tiny_checkpoint(other.model).ok());
  open(faults.worker());
  anelane_model model = {};
  for (const Place* place : {&place_, &other}) {
    faults.arm();
    EXPECT_EQ(load(*place, &model), ANELANE_ENGINE_CRASHED);
  }
  ASSERT_TRUE(fs::exists(book_));
  fs::create_directory(book_ + ".next");
  embed_well(load_tiny(lane_, place_));
  EXPECT_FALSE(fs::exists(book_));
}

}  // namespace
}  // namespace faults
