// What is said of models whose workers keep ending, from what a look at a lane gives.
#include "peek.h"

#include <gtest/gtest.h>

#include <chrono>

namespace anelane_tool {
namespace {

std::string told(const std::string& peek) {
  std::string all;
  for (const CrashLoop& loop : crash_loops(peek)) all += words(loop) + "\n";
  return all;
}

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string lane_with(const std::string& model, int64_t written_ms_ago, const char* stale = "false") {
  return R"({"held":true,"stale":)" + std::string(stale) + R"(,"as_of_unix_ms":)" +
         std::to_string(unix_ms() - written_ms_ago) +
         R"(,"crash_loops":[{"model":"a","crashes":1,"retry_after_ms":0}],"lane":{"models":[)" + model +
         "]}}";
}

TEST(Peek, L6_4_AQuarantineIsToldWithWhatIsLeftOfItAndWhy) {
  const std::string a =
      R"({"name":"a","state":"quarantined","retry_after_ms":61000,"last_fault":"its process was killed"})";
  EXPECT_EQ(told(lane_with(a, 9'500)),
            "a: its workers keep ending, none is started for another 52 s. Why: its process was killed\n");
  const std::string book = "a: 1 worker ended before serving anything\n";
  EXPECT_EQ(told(lane_with(a, 61'000)), book) << "it is over";
  EXPECT_EQ(told(lane_with(a, 0, "true")), book) << "of an earlier holder";
  EXPECT_EQ(told(lane_with(R"({"name":"a","state":"ready"})", 0)), book);
  EXPECT_EQ(told(lane_with(R"({"name":"a","state":"starting","retry_after_ms":2600})", 0)), book)
      << "the machine lacks something, it has not crashed";
}

TEST(Peek, L6_4_TheBookIsToldOfEachModelOnce) {
  EXPECT_EQ(
      told(R"({"crash_loops":[{"model":"a","crashes":5,"retry_after_ms":1},{"model":"b","crashes":2}]})"),
      "a: 5 workers ended before serving anything, none is started for another 1 s\n"
      "b: 2 workers ended before serving anything\n");
}

TEST(Peek, WhatAnotherVersionWritesIsPassedOver) {
  for (const char* other :
       {"", "7", "{", "[]", "{}", R"({"crash_loops":{}})", R"({"lane":[],"crash_loops":7})",
        R"({"lane":{"models":{"a":1}}})", R"({"lane":{"models":[7,{"retry_after_ms":"x"}]}})"})
    EXPECT_EQ(told(other), "") << other;
}

}  // namespace
}  // namespace anelane_tool
