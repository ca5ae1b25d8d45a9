#include "text/unicode.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

bool is_valid(std::initializer_list<int> bytes) {
  std::string text;
  for (const int b : bytes) text += static_cast<char>(b);
  return find_invalid_utf8(text) == kValidUtf8;
}

TEST(Unicode, EveryCodePointSurvivesTheWayThroughUtf8) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(c, &text);
    ASSERT_EQ(find_invalid_utf8(text), kValidUtf8) << static_cast<uint32_t>(c);
    size_t at = 0;
    ASSERT_EQ(next_code_point(text, &at), c);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Unicode, NoSurrogateIsAccepted) {
  for (char32_t c = 0xd800; c < 0xe000; ++c) {
    std::string text;
    append_utf8(c, &text);
    ASSERT_EQ(find_invalid_utf8(text), 0u) << static_cast<uint32_t>(c);
  }
}

// Every sequence of one and two bytes, against the definition: ASCII, or C2..DF with a continuation byte.
TEST(Unicode, ShortSequencesAreValidExactlyAsDefined) {
  for (int a = 0; a < 256; ++a) {
    ASSERT_EQ(is_valid({a}), a < 0x80) << a;
    for (int b = 0; b < 256; ++b) {
      const bool valid = (a < 0x80 && b < 0x80) || (a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf);
      ASSERT_EQ(is_valid({a, b}), valid) << a << " " << b;
    }
  }
}

TEST(Unicode, OverlongAndTooLargeFormsAreRefused) {
  EXPECT_FALSE(is_valid({0xc0, 0x80}));
  EXPECT_FALSE(is_valid({0xe0, 0x9f, 0xbf}));
  EXPECT_TRUE(is_valid({0xe0, 0xa0, 0x80}));
  EXPECT_FALSE(is_valid({0xf0, 0x8f, 0xbf, 0xbf}));
  EXPECT_TRUE(is_valid({0xf0, 0x90, 0x80, 0x80}));
  EXPECT_TRUE(is_valid({0xf4, 0x8f, 0xbf, 0xbf}));
  EXPECT_FALSE(is_valid({0xf4, 0x90, 0x80, 0x80}));
  EXPECT_FALSE(is_valid({0xf5, 0x80, 0x80, 0x80}));
  EXPECT_FALSE(is_valid({0xf0, 0x9f, 0x98}));  // cut off
}

TEST(Unicode, TheOffsetOfTheFirstBadByteIsReported) {
  EXPECT_EQ(find_invalid_utf8("abc\xff"), 3u);
  EXPECT_EQ(find_invalid_utf8("h\xc3\xa9 \xe2\x82"), 4u);
  EXPECT_EQ(find_invalid_utf8("ok\xed\xa0\x80"), 2u);
}

TEST(Unicode, PropertiesOfKnownCharacters) {
  EXPECT_EQ(properties_of(U'a'), kWord);
  EXPECT_EQ(properties_of(U'A'), kWord | kLowers);
  EXPECT_EQ(properties_of(U' '), kSpace);
  EXPECT_EQ(properties_of(U'$'), kPunctuation);  // a symbol, but ASCII
  EXPECT_EQ(properties_of(U'€'), 0);             // a symbol beyond ASCII
  EXPECT_EQ(properties_of(0), kDropped);
  EXPECT_EQ(properties_of(0x85), kDropped | kSpace);
  EXPECT_EQ(properties_of(0xe000), kDropped);
  EXPECT_EQ(properties_of(0x0301) & (kMark | kReorders), kMark | kReorders);
  EXPECT_EQ(properties_of(0x110000), 0);
  EXPECT_EQ(combining_class(0x0301), 230);
  EXPECT_EQ(combining_class(U'a'), 0);
}

TEST(Unicode, HangulDecomposesByRule) {
  std::u32string parts;
  append_decomposition(U'각', &parts);
  EXPECT_EQ(parts, U"\u1100\u1161\u11a8");
  parts.clear();
  append_decomposition(U'가', &parts);
  EXPECT_EQ(parts, U"\u1100\u1161");
}

// The table and its bits agree: every code point with a bit has the entry that the bit promises.
TEST(Unicode, EveryBitHasItsEntry) {
  int decomposing = 0, lowering = 0, reordering = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const uint8_t properties = properties_of(c);
    if ((properties & kDecomposes) != 0) {
      std::u32string parts;
      append_decomposition(c, &parts);
      ASSERT_FALSE(parts.empty()) << static_cast<uint32_t>(c);
      ++decomposing;
    }
    if ((properties & kLowers) != 0) {
      ASSERT_FALSE(lower_case(c).empty()) << static_cast<uint32_t>(c);
      ++lowering;
    }
    ASSERT_EQ((properties & kReorders) != 0, combining_class(c) != 0) << static_cast<uint32_t>(c);
    reordering += (properties & kReorders) != 0 ? 1 : 0;
  }
  EXPECT_EQ(decomposing, 13232);
  EXPECT_EQ(lowering, 1488);
  EXPECT_EQ(reordering, 810);
}

}  // namespace
}  // namespace anelane
