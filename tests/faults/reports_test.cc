// What went wrong in systems like this one, tried on a lane with real workers. Each test has the number of
// its kind of report; others of the same list are tested where their subject is.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"

namespace faults {
namespace {

namespace fs = std::filesystem;

class Reports : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok());
    for (const std::string& made : {temp_, place_.cache})
      fs::create_directory(made), fs::permissions(made, fs::perms::owner_all);
    before_ = inventory();
  }
  void TearDown() override {
    EXPECT_TRUE(becomes_true(2000, [&] { return inventory() == before_; })) << before_ << inventory();
  }
  void open(const std::string& fault, LaneFolder::Happens happens = LaneFolder::Happens::kWhenArmed) {
    faults_ = std::make_unique<LaneFolder>(place_.lane, fault, happens);
    open_again();
  }
  void open_again() {
    anelane_lane_options options = options_in(place_);
    options.temp_dir = temp_.c_str();
    options.worker_path = faults_->worker().c_str();
    lane_ = open_lane(options);
  }
  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
  const std::string temp_ = folder_.file("temp");
  std::string before_;
  std::unique_ptr<LaneFolder> faults_;
  anelane_lane lane_ = {};
};

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}
bool says(const anelane_error& err, const std::string& words) {
  return says(std::string(err.message), words);
}

// A program that loads well and kills its worker at each evaluation: the host lives, every caller is told,
// and the crash loop is broken with a time to come back (L6.4) instead of a restart for each request.
TEST_F(Reports, F1_F10_AWorkerThatDiesAtEachEvaluationIsNotStartedForEver) {
  open("embed:die", LaneFolder::Happens::kAlways);
  const anelane_model model = load_tiny(lane_, place_);
  std::vector<float> row;
  anelane_error err = new_error();
  size_t calls = 0;
  const bool given_up = becomes_true(kBoundMs, [&] {
    ++calls;
    EXPECT_EQ(embed_short(model, 10'000, &row, &err), ANELANE_ENGINE_CRASHED) << text_of(err);
    EXPECT_FALSE(says(err, "being started")) << "nobody knows that yet: " << text_of(err);
    return err.retry_after_ms > 10'000;  // more than any back-off
  });
  EXPECT_TRUE(given_up) << text_of(err);
  EXPECT_TRUE(says(err, "keep ending, and one is started at most once a minute")) << text_of(err);
  EXPECT_TRUE(says(err, "ask again in " + std::to_string(err.retry_after_ms) + " ms")) << text_of(err);
  EXPECT_TRUE(says(err, "Why: its process was killed by signal 9")) << text_of(err);
  EXPECT_LE(err.retry_after_ms, 61'000u);
  static char seen[65536];
  size_t len = 0;
  ASSERT_EQ(anelane_lane_describe(lane_, seen, sizeof seen, &len, nullptr), ANELANE_OK);
  EXPECT_TRUE(says(seen, "\"state\":\"quarantined\"")) << seen;
  EXPECT_TRUE(says(seen, "\"retry_after_ms\":")) << seen;
  EXPECT_TRUE(says(seen, "\"last_fault\":\"its process was killed by signal 9\"")) << seen;
  EXPECT_EQ(err.error_class, ANELANE_TRANSIENT);
  const uint64_t restarts = stats_of(lane_).restarts;
  EXPECT_LE(restarts, 5u);
  std::printf("%zu calls, %llu restarts: %s\n", calls, static_cast<unsigned long long>(restarts),
              text_of(err).c_str());
  for (int i = 0; i < 100; ++i) {
    const uint64_t start = anelane_now_ns();
    EXPECT_EQ(embed_short(model, 10'000, &row, &err), ANELANE_ENGINE_CRASHED);
    EXPECT_LT(ms_since(start), 5'000u) << "told at once";
  }
  EXPECT_EQ(stats_of(lane_).restarts, restarts);
  EXPECT_EQ(stats_of(lane_).reserved_programs, 0u);
  close_lane(lane_);
}

// A host that gives up at the first crash and is started again by its system, over and over.
class ReportsOfLives : public Reports {
 protected:
  anelane_status load(anelane_model* model) {
    return anelane_model_load(lane_, place_.model.c_str(), nullptr, in_ms(kBoundMs), model, &err_);
  }
  // One that ends with a crash of its worker.
  void live_and_crash() {
    anelane_model model = {};
    std::vector<float> row;
    ASSERT_EQ(load(&model), ANELANE_OK) << text_of(err_);
    faults_->arm();
    EXPECT_EQ(embed_short(model, kBoundMs, &row, &err_), ANELANE_ENGINE_CRASHED);
    close_lane(lane_);
  }
  anelane_error err_ = new_error();
};

TEST_F(ReportsOfLives, F10_L6_4_NoWorkersAreStartedForEverByAHostThatIsRestartedForEver) {
  open("embed:die");
  live_and_crash();
  for (int life = 1; life < 5; ++life) {
    open_again();
    live_and_crash();
  }
  open_again();  // this life would do well, but nobody can know that
  anelane_model model = {};
  EXPECT_EQ(load(&model), ANELANE_ENGINE_CRASHED);
  std::printf("%s\n", err_.message);
  EXPECT_GT(err_.retry_after_ms, 0u);
  EXPECT_LE(err_.retry_after_ms, 60'000u);
  EXPECT_EQ(err_.error_class, ANELANE_TRANSIENT);
  EXPECT_TRUE(says(err_, "load it again in " + std::to_string(err_.retry_after_ms) + " ms"));
  EXPECT_TRUE(says(err_, place_.lane + "/lane.crashes.json"));
  EXPECT_TRUE(children().empty()) << "no worker was started for it";
  char peek[4096];
  ASSERT_EQ(anelane_lane_peek(place_.lane.c_str(), peek, sizeof peek, nullptr, &err_), ANELANE_OK);
  EXPECT_NE(std::string(peek).find("\"crash_loops\":[{\"model\":\"tiny\",\"crashes\":5,"), std::string::npos)
      << peek;
  const Place other = {place_.lane, place_.cache, folder_.file("other")};
  ASSERT_TRUE(anelane::write_tiny_checkpoint(other.model).ok());
  embed_well(load_tiny(lane_, other, "other"));  // another model is not concerned
  close_lane(lane_);
  // A book that nobody can read holds nothing; one that was taken away neither, at once.
  open_again();
  const std::string book = place_.lane + "/lane.crashes.json";
  fs::rename(book, book + ".away");
  std::ofstream(book) << "{\"models\":[";
  ASSERT_EQ(load(&model), ANELANE_OK) << text_of(err_);
  require(anelane_model_retire(model, in_ms(kBoundMs), &err_), "retire", err_);
  fs::rename(book + ".away", book);
  EXPECT_EQ(load(&model), ANELANE_ENGINE_CRASHED);
  fs::remove(book);
  ASSERT_EQ(load(&model), ANELANE_OK) << text_of(err_);
  embed_well(model);
  close_lane(lane_);
}

// Workers that are killed from outside, say: what works meanwhile is not held back for it.
TEST_F(ReportsOfLives, F10_AModelThatServesInBetweenIsNotHeld) {
  open("embed:die");
  live_and_crash();
  for (int life = 1; life < 12; ++life) {
    open_again();
    if (life % 4 == 3) {
      anelane_model model = {};
      ASSERT_EQ(load(&model), ANELANE_OK) << "life " << life << ": " << text_of(err_);
      embed_well(model);
      close_lane(lane_);
      open_again();
    }
    live_and_crash();
  }
}

size_t bytes_below(const std::string& folder) {
  size_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

TEST_F(Reports, F5_CompilingAndRetiringOverAndOverFillsNoFolder) {
  open("");
  constexpr uint64_t kCycles = 50;  // of a fifth of a second
  size_t cache_bytes = 0;
  for (uint64_t i = 0; i < kCycles; ++i) {
    for (const auto& entry : fs::recursive_directory_iterator(place_.cache))  // so that each compiles
      if (entry.is_regular_file() && entry.file_size() > 1024) fs::remove(entry.path());
    const anelane_model model = load_tiny(lane_, place_);
    anelane_error err = new_error();
    require(anelane_admit(model, 32, in_ms(kBoundMs), &err), "admit", err);
    require(anelane_model_retire(model, in_ms(kBoundMs), &err), "retire", err);
    ASSERT_EQ(bytes_below(temp_), 0u);
    if (i == 0) cache_bytes = bytes_below(place_.cache);
    ASSERT_LE(bytes_below(place_.cache), cache_bytes + 1024);
  }
  EXPECT_EQ(stats_of(lane_).compiled, kCycles);
  close_lane(lane_);
  EXPECT_TRUE(fs::is_empty(temp_));
}

// Whoever looks while everything changes sees one state of it (and no race: this test runs under TSan).
TEST_F(Reports, F37_LookingDuringChurnShowsWholeStates) {
  open("");
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looks{0}, torn{0};
  const auto look = [&] {
    std::string text(1 << 16, '\0');
    while (!stop) {
      const anelane_lane_stats s = stats_of(lane_);
      if (s.reserved_programs > s.budget || s.leased > s.resident || s.resident > 8 || s.models > 2 ||
          s.loaded + s.compiled != s.admitted || s.restarts > s.admitted + s.models + 100)
        ++torn;
      size_t len = 0;
      anelane_lane_describe(lane_, text.data(), text.size(), &len, nullptr);
      if (text[0] != '{' || len >= text.size() || text[len - 1] != '}') ++torn;
      anelane_lane_peek(place_.lane.c_str(), text.data(), text.size(), &len, nullptr);
      if (text[0] != '{') ++torn;
      ++looks;
    }
  };
  std::thread lookers[] = {std::thread(look), std::thread(look)};
  for (int i = 0; i < 30; ++i) {
    const anelane_model model = load_tiny(lane_, place_);
    embed_well(model);
    if (i % 3 == 0) {
      ::kill(worker_of(lane_, "tiny"), SIGKILL);
      embed_after_fault(model);
    }
    anelane_error err = new_error();
    require(anelane_model_retire(model, in_ms(kBoundMs), &err), "retire", err);
  }
  stop = true;
  for (std::thread& looker : lookers) looker.join();
  std::printf("%llu looks\n", static_cast<unsigned long long>(looks));
  EXPECT_GT(looks, 30u);
  EXPECT_EQ(torn, 0u);
  close_lane(lane_);
}

// A load that is cancelled at some moment of its start must neither leave its process nor take another's
// away.
TEST_F(Reports, F39_ReloadingAndCancellingQuicklyLeavesTheWorkersThatBelongThere) {
  constexpr size_t kRounds = 250, kAtATime = 4;
  open("");
  const anelane_model kept = load_tiny(lane_, place_, "kept");
  const std::vector<float> right = embed_well(kept);
  const pid_t worker = worker_of(lane_, "kept");
  size_t loaded = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    Started loads[kAtATime];
    anelane_error err = new_error();
    for (Started& load : loads)
      require(anelane_start_load(lane_, place_.model.c_str(), nullptr, in_ms(kBoundMs), count_end, &load,
                                 &load.op, &err),
              "start_load", err);
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 25));
    for (size_t i = 0; i < kAtATime; ++i)
      if (i != round % 8) anelane_op_cancel(loads[i].op);
    for (Started& load : loads) {
      ASSERT_TRUE(becomes_true(kBoundMs, [&] { return load.told > 0; }));
      ASSERT_TRUE(load.status == ANELANE_CANCELLED || load.status == ANELANE_OK) << load.status;
      loaded += load.status == ANELANE_OK ? 1 : 0;
      anelane_op_release(load.op);  // what nobody took is retired with it
    }
  }
  std::printf("%zu loads, %zu of them before they were cancelled\n", kRounds * kAtATime, loaded);
  EXPECT_TRUE(becomes_true(kBoundMs, [&] { return children() == std::vector<pid_t>{worker}; }))
      << children().size() << " children";
  EXPECT_EQ(worker_of(lane_, "kept"), worker);
  EXPECT_EQ(embed_well(kept), right);
  EXPECT_EQ(stats_of(lane_).restarts, 0u);
  close_lane(lane_);
}

}  // namespace
}  // namespace faults
