#include "worker_steps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <vector>

#include "printable.h"

namespace anelane_tool {
namespace {

// A worker that reports its steps one by one, each in time, and never comes to an end: every line renews the
// time of a step, not that of all.
TEST(WorkerSteps, AllTogetherAreBounded) {
  const std::string path = testing::TempDir() + "slow-worker";
  FILE* script = std::fopen(path.c_str(), "w");
  ASSERT_NE(script, nullptr);
  std::fputs(
      "#!/bin/sh\n"
      "for s in system chip 'temp folder' 'cache folder' signature staging framework classes; do\n"
      "  echo '{\"step\":\"'\"$s\"'\",\"outcome\":\"ok\",\"detail\":\"\",\"ms\":1}'\n"
      "  sleep 1\n"
      "done\n"
      "exec sleep 600\n",
      script);
  std::fclose(script);
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  std::vector<DoctorStep> steps;
  WorkerTimes times;
  times.total = std::chrono::seconds(2);
  times.step = std::chrono::seconds(60);
  const WorkerEnd end = run_worker_steps(
      path, "{}", [&](const DoctorStep& step) { steps.push_back(step); }, times);
  std::remove(path.c_str());
  EXPECT_EQ(end.engine, "");
  ASSERT_FALSE(steps.empty());
  EXPECT_LT(steps.size(), 9u);
  EXPECT_EQ(steps.back().outcome, "failed");
  EXPECT_NE(steps.back().detail.find("no end within 2 s in all"), std::string::npos) << steps.back().detail;
}

TEST(Printable, OnlyWhatATerminalWouldObeyIsReplaced) {
  EXPECT_EQ(printable("Grüße, 猫 \xf0\x9f\x90\x88"), "Grüße, 猫 \xf0\x9f\x90\x88");
  EXPECT_EQ(printable(std::string("a\0b\n\t\x1b[2J\x7f", 10)), "a\\x00b\\x0a\\x09\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xc2\x9b\xc2\xa0"), "\\x9b\xc2\xa0");
  EXPECT_EQ(printable("a\xff\xc2"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace anelane_tool
