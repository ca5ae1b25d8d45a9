// L6.4 beyond the life of a host: when a model's first worker is held back, and what ends that.
#include "lane/crash_book.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace anelane {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;
constexpr int64_t kMinute = 60'000;

// As the next life of a host finds it.
CrashBook reopened(const CrashBook& book) {
  return CrashBook::from_text(book.text());
}

CrashBook held_book() {
  CrashBook book;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(book.held_ms("a", kNow + i), 0u) << i;
    book.crashed("a", "A", kNow + i);
    book = reopened(book);
  }
  return book;
}

TEST(CrashBook, L6_4_F10_FiveCrashesInAMinuteHoldAModelForAMinute) {
  const CrashBook book = held_book();
  EXPECT_EQ(book.held_ms("a", kNow + 4), 60'000u);
  EXPECT_EQ(book.held_ms("a", kNow + 4 + kMinute - 1), 1u);
  EXPECT_EQ(book.held_ms("a", kNow + 4 + kMinute), 0u);
  EXPECT_EQ(book.held_ms("b", kNow + 4), 0u) << "another model";
}

TEST(CrashBook, L6_4_CrashesThatAreFarApartHoldNothing) {
  CrashBook book;
  for (int i = 0; i < 100; ++i) {
    book.crashed("a", "A", kNow + i * kMinute / 4);
    ASSERT_EQ(book.held_ms("a", kNow + i * kMinute / 4), 0u) << i;
  }
}

TEST(CrashBook, L6_4_AfterwardsOneMoreCrashIsEnoughForAMinute) {
  CrashBook soon = held_book(), late = held_book();
  const int64_t let_go = kNow + 4 + kMinute;
  soon.crashed("a", "A", let_go + kMinute - 1);
  EXPECT_EQ(soon.held_ms("a", let_go + kMinute - 1), 60'000u);
  late.crashed("a", "A", let_go + kMinute);
  EXPECT_EQ(late.held_ms("a", let_go + kMinute), 0u);
}

TEST(CrashBook, L6_4_AServedInferenceEndsItInAnyState) {
  CrashBook watched;
  for (int i = 0; i < 4; ++i) watched.crashed("a", "A", kNow + i);
  watched.crashed("b", "B", kNow + 4);
  EXPECT_TRUE(watched.served("a"));
  EXPECT_FALSE(watched.served("a")) << "it is gone";
  watched.crashed("a", "A", kNow + 5);
  EXPECT_EQ(watched.held_ms("a", kNow + 5), 0u) << "it counts from the beginning";
  CrashBook held = held_book();
  EXPECT_TRUE(held.served("a"));
  EXPECT_EQ(reopened(held).held_ms("a", kNow + 4), 0u);
  CrashBook let_go = held_book();
  EXPECT_TRUE(let_go.served("a"));
  let_go.crashed("a", "A", kNow + 5 + kMinute);
  EXPECT_EQ(let_go.held_ms("a", kNow + 5 + kMinute), 0u) << "one crash is not enough any more";
}

TEST(CrashBook, L6_4_AClockThatWasSetBackHoldsNothing) {
  CrashBook book = held_book();
  EXPECT_EQ(book.held_ms("a", kNow - kMinute), 0u);
  book.crashed("a", "A", kNow - kMinute);
  EXPECT_EQ(book.held_ms("a", kNow - kMinute), 0u);
}

TEST(CrashBook, L6_4_WhatIsNoBookIsAnEmptyOne) {
  const std::string good = held_book().text();
  ASSERT_EQ(CrashBook::from_text(good).entries().size(), 1u);
  for (size_t cut = 0; cut + 2 < good.size(); ++cut)
    EXPECT_EQ(CrashBook::from_text(good.substr(0, cut)).entries().size(), 0u) << cut;
  for (const char* bad :
       {"", "[]", "{}", "7", R"({"models":{}})", R"({"models":[{}]})", R"({"models":[{"key":"a"}]})",
        R"({"models":[{"key":"a","crashes_unix_ms":[2,1],"held_until_unix_ms":0}]})",
        R"({"models":[{"key":"a","crashes_unix_ms":["x"],"held_until_unix_ms":0}]})",
        R"({"models":[{"key":"a","crashes_unix_ms":[1,2,3,4,5,6],"held_until_unix_ms":0}]})",
        R"({"models":[{"key":"a","crashes_unix_ms":[1],"held_until_unix_ms":9999999999999}]})",
        R"({"models":[{"key":"a","crashes_unix_ms":[1],"held_until_unix_ms":9223372036854775807}]})"})
    EXPECT_EQ(CrashBook::from_text(bad).entries().size(), 0u) << bad;
}

TEST(CrashBook, L6_4_ATimeAtTheEndOfNumbersIsForgotten) {
  CrashBook book = CrashBook::from_text(
      R"({"models":[{"key":"a","crashes_unix_ms":[9223372036854775807],"held_until_unix_ms":9223372036854775807}]})");
  EXPECT_EQ(book.held_ms("a", kNow), 0u);
  book.forget_old(kNow);
  EXPECT_EQ(book.entries().size(), 0u);
}

TEST(CrashBook, L6_4_ItStaysSmall) {
  CrashBook book;
  for (int i = 0; i < 1'000; ++i) {
    book.crashed("model " + std::to_string(i), "M", kNow + i);
    ASSERT_LE(book.entries().size(), limits::kCrashBookModels);
  }
  for (int i = 0; i < 4; ++i) book.crashed("model 999", "M", kNow + 1'000);
  EXPECT_NE(book.held_ms("model 999", kNow + 1'000), 0u) << "the last ones are kept";
  book.crashed("b", "B", kNow + 3 * kMinute);
  EXPECT_EQ(book.entries().size(), 1u) << "the others are forgotten";
  EXPECT_EQ(reopened(book).entries().size(), 1u);
}

}  // namespace
}  // namespace anelane
