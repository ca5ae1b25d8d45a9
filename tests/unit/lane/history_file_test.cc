// The record of a lane on disk: bounded, closed with a line, and harmless when it cannot be written.
#include "lane/history_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "scheduler/replay.h"

namespace anelane {
namespace {

using sched::EventKind;

class HistoryFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/anelane-history-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = name + "/record";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A lane with one model and many requests that wait for it.
  static void live(sched::Scheduler& scheduler, HistoryFile& file, int requests) {
    sched::WorkerSpec spec;
    spec.layers = 4;
    spec.ladder = {128};
    spec.seed_compile.fill(sched::kUnknown);
    spec.seed_load.fill(sched::kUnknown);
    const sched::WorkerId w = scheduler.add_worker(spec);
    scheduler.step(0, {.kind = EventKind::kWorkerReady, .worker = w, .generation = 1});
    for (int i = 1; i <= requests; ++i) {
      scheduler.step(i, {.kind = EventKind::kRequest, .worker = w, .ticket = static_cast<uint64_t>(i)});
      file.flush();
    }
  }
  std::string folder_, path_;
};

TEST_F(HistoryFileTest, WhatWasRecordedReplays) {
  {
    sched::Scheduler scheduler({});
    auto file = HistoryFile::create(path_);
    ASSERT_TRUE(file.ok()) << file.status().message();
    (*file)->start(&scheduler, {});
    live(scheduler, **file, 50);
  }
  const Result<std::string> text = read_file(path_, 1u << 20);
  ASSERT_TRUE(text.ok());
  const Result<sched::Replay> replay = sched::replay_history(*text, "r");
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  EXPECT_EQ(replay->steps, 51u);
  EXPECT_EQ(replay->difference, "");
  EXPECT_EQ(replay->ended, "closed");
}

TEST_F(HistoryFileTest, AFullRecordEndsWithALineThatSaysSoAndStaysWithinItsBound) {
  constexpr size_t kLimit = 4096;
  sched::Scheduler scheduler({});
  auto file = HistoryFile::create(path_, kLimit);
  ASSERT_TRUE(file.ok());
  (*file)->start(&scheduler, {});
  live(scheduler, **file, 1000);
  file->reset();
  EXPECT_LE(std::filesystem::file_size(path_), kLimit);
  const Result<std::string> text = read_file(path_, 1u << 20);
  const Result<sched::Replay> replay = sched::replay_history(*text, "r");
  ASSERT_TRUE(replay.ok()) << replay.status().message();
  EXPECT_EQ(replay->ended, "full");
  EXPECT_EQ(replay->difference, "");
  EXPECT_GT(replay->steps, 20u);
  EXPECT_LT(replay->steps, 1000u);
  EXPECT_EQ(scheduler.snapshot(0).waiting, 1000u);  // nobody noticed
}

TEST_F(HistoryFileTest, AFailedWriteEndsTheRecordAndNothingElse) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  sched::Scheduler scheduler({});
  auto file = HistoryFile::create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status().message();
  (*file)->start(&scheduler, {});
  live(scheduler, **file, 100);
  EXPECT_EQ(scheduler.snapshot(0).waiting, 100u);
}

TEST_F(HistoryFileTest, AFileThatCannotBeCreatedIsNamed) {
  std::filesystem::create_symlink("/dev/null", folder_ + "/link");
  for (const std::string& path : {folder_, folder_ + "/none/record", folder_ + "/link"}) {
    const auto file = HistoryFile::create(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().code(), Code::kIo);
    EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
  }
}

}  // namespace
}  // namespace anelane
