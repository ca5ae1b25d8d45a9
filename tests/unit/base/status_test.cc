// The table of codes: every number of the C header has a row, and what a row promises fits together.
#include "base/status.h"

#include <anelane.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

#include "base/file.h"
#include "base/fit_message.h"

namespace anelane {
namespace {

constexpr int32_t kLast = ANELANE_PENDING;

TEST(Status, TheNumbersAreDenseAndTheNamesAreTheirOwn) {
  std::set<std::string> names;
  for (int32_t number = 0; number <= kLast; ++number) {
    const CodeInfo* info = find_code(number);
    ASSERT_NE(info, nullptr) << number;
    EXPECT_TRUE(names.insert(info->name).second) << info->name;
    EXPECT_EQ(find_code(std::string_view(info->name)), info);
  }
  EXPECT_EQ(find_code(-1), nullptr);
  EXPECT_EQ(find_code(kLast + 1), nullptr);
}

TEST(Status, EveryErrorSaysWhatToDoAndOnlyTransientOnesWhenToComeBack) {
  for (int32_t number = 1; number <= kLast; ++number) {
    const CodeInfo& info = *find_code(number);
    EXPECT_STRNE(info.advice, "") << info.name;
    // Still going on is no refusal: nobody has to come back.
    EXPECT_EQ(info.retry_after_ms > 0, info.transient && info.code != Code::kPending) << info.name;
  }
}

TEST(Status, ALongMessageKeepsItsBeginningAndItsEnd) {
  EXPECT_EQ(fit_message("short", 5), "short");
  EXPECT_EQ(fit_message("", 0), "");
  EXPECT_EQ(fit_message("abcdefghijklmnopqrst", 15), "abcde … pqrst");
  const std::string folder(300, 'x');
  const std::string told = fit_message("cannot read /" + folder + "/config.json: download it again", 255);
  EXPECT_LE(told.size(), 255u);
  EXPECT_TRUE(told.starts_with("cannot read /xxx")) << told;
  EXPECT_TRUE(told.ends_with("/config.json: download it again")) << told;
  // Sequences of several bytes are kept whole, wherever the cut falls.
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  for (size_t most = 6; most < 200; ++most) {
    std::string cut = fit_message(umlauts, most);
    ASSERT_LE(cut.size(), most);
    const size_t gap = cut.find(" … ");
    ASSERT_NE(gap, std::string::npos);
    EXPECT_EQ(gap % 2, 0u) << most;
    EXPECT_EQ((cut.size() - gap - 5) % 2, 0u) << most;
  }
}

TEST(Status, WhatAMachineRunsOutOfComesWithAWayOut) {
  EXPECT_NE(errno_text(EMFILE).find("ulimit -n"), std::string::npos);
  EXPECT_NE(errno_text(ENFILE).find("raise the system's limit"), std::string::npos);
  EXPECT_NE(errno_text(ENOSPC).find("make room"), std::string::npos);
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace anelane
