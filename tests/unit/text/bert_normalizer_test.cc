#include "text/bert_normalizer.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

constexpr BertNormalizer kNone{false, false, false, false};
constexpr BertNormalizer kClean{true, false, false, false};
constexpr BertNormalizer kIdeographs{false, true, false, false};
constexpr BertNormalizer kStrip{false, false, true, false};
constexpr BertNormalizer kLower{false, false, false, true};

TEST(BertNormalizer, NothingSwitchedOnChangesNothing) {
  const std::string text = "Ä\t字\u0301\u200b";
  EXPECT_EQ(kNone.normalize(text), text);
}

TEST(BertNormalizer, CleaningDropsControlsAndMakesSpacesBlanks) {
  using namespace std::string_literals;
  EXPECT_EQ(kClean.normalize("a\0b\x01\x7f"s
                             "c\u200b\ufffd"),
            "abc");
  EXPECT_EQ(kClean.normalize("a\tb\nc\rd\u00a0e\u3000f"), "a b c d e f");
  EXPECT_EQ(kClean.normalize("\v\f\u0085"), "");    // controls before they are spaces
  EXPECT_EQ(kClean.normalize("\u0378"), "\u0378");  // unassigned stays
}

TEST(BertNormalizer, IdeographsGetBlanksAround) {
  EXPECT_EQ(kIdeographs.normalize("a中b"), "a 中 b");
  EXPECT_EQ(kIdeographs.normalize("かな"), "かな");
  EXPECT_EQ(kIdeographs.normalize("\U0002b820"), "\U0002b820");  // the package's gap
  EXPECT_EQ(kIdeographs.normalize("\U0002b920"), " \U0002b920 ");
}

TEST(BertNormalizer, AccentsGoAfterDecomposition) {
  EXPECT_EQ(kStrip.normalize("Ångström café"), "Angstrom cafe");
  EXPECT_EQ(kStrip.normalize("e\u0301\u0327"), "e");
  EXPECT_EQ(kStrip.normalize("각"), "\u1100\u1161\u11a8");
  EXPECT_EQ(kStrip.normalize("\u0344"), "");  // two marks
}

// Marks that the package's old tables do not know stay in the text, in canonical order.
TEST(BertNormalizer, RemainingMarksAreInCanonicalOrder) {
  EXPECT_EQ(kStrip.normalize("a\U0001d16d\U0001d165"), "a\U0001d165\U0001d16d");  // classes 226 and 216
  EXPECT_EQ(kStrip.normalize("a\U0001d165\U0001d16d"), "a\U0001d165\U0001d16d");
  EXPECT_EQ(kStrip.normalize("\U0001d16d"
                             "b\U0001d165"),
            "\U0001d16d"
            "b\U0001d165");  // a starter between
}

TEST(BertNormalizer, LowerCaseIsByCodePoint) {
  EXPECT_EQ(kLower.normalize("ÀB İ ǅ ΣΑΣ ẞ"), "àb i\u0307 ǆ σασ ß");
}

TEST(BertNormalizer, AllStepsTogether) {
  const BertNormalizer all;
  EXPECT_EQ(all.normalize("İstanbul\tÉ中"), "istanbul e 中 ");
}

}  // namespace
}  // namespace anelane
