// The JSON that the tool writes is JSON, and its numbers are the vectors' own bits.
#include "json_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>

namespace anelane_tool {
namespace {

TEST(JsonText, EverythingThatMustBeEscapedIs) {
  EXPECT_EQ(json_string("plain"), "\"plain\"");
  EXPECT_EQ(json_string("\"\\/"), "\"\\\"\\\\/\"");
  EXPECT_EQ(json_string(std::string_view("\0\n\x1f\x7f", 4)), "\"\\u0000\\u000a\\u001f\\u007f\"");
  EXPECT_EQ(json_string("grün €😀"), "\"grün €😀\"");
}

TEST(JsonText, BytesThatAreNotUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(json_string("a\xff\xe2\x82z"), "\"a\\ufffd\\ufffd\\ufffdz\"");
}

TEST(JsonText, FloatsReadBackBitForBit) {
  // A walk over the whole range of bit patterns, and the edges.
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 9973) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (value != value || value - value != 0) continue;
    const std::string text = json_number(value);
    ASSERT_EQ(std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr)), static_cast<uint32_t>(bits))
        << text;
  }
  EXPECT_EQ(json_number(0.1f), "0.1");
  EXPECT_EQ(json_number(-0.0f), "-0");
  EXPECT_EQ(json_number(std::numeric_limits<float>::denorm_min()), "1e-45");
}

TEST(JsonText, WhatJsonCannotSayIsNull) {
  EXPECT_EQ(json_number(std::numeric_limits<float>::infinity()), "null");
  EXPECT_EQ(json_number(std::numeric_limits<float>::quiet_NaN()), "null");
}

TEST(NumberText, SaysWhatJsonCannot) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(number_text(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(number_text(infinity), "inf");
  EXPECT_EQ(number_text(-infinity), "-inf");
  EXPECT_EQ(number_text(0.25f), "0.25");
}

}  // namespace
}  // namespace anelane_tool
