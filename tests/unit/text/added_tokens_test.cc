#include "text/added_tokens.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

// "a|<1>b|c": pieces with the ids of tokens in front.
std::string show(const AddedTokens& tokens, std::string_view text) {
  std::string out;
  for (const TextPiece& piece : tokens.split(text)) {
    if (!out.empty()) out += "|";
    if (piece.id >= 0) out.append("<").append(std::to_string(piece.id)).append(">");
    out += piece.text;
  }
  return out;
}

AddedTokens make(std::vector<AddedToken> list) {
  AddedTokens tokens;
  for (AddedToken& token : list) tokens.add(std::move(token));
  return tokens;
}

TEST(AddedTokens, TextWithoutTokensIsOnePiece) {
  EXPECT_EQ(show(make({{"[CLS]", 1}}), "no token"), "no token");
  EXPECT_EQ(show(make({{"[CLS]", 1}}), ""), "");
  EXPECT_EQ(show(AddedTokens(), "[CLS]"), "[CLS]");
}

TEST(AddedTokens, TokensAreCutOutAnywhere) {
  const AddedTokens tokens = make({{"[CLS]", 1}, {"[SEP]", 2}});
  EXPECT_EQ(show(tokens, "a[CLS]b[SEP]"), "a|<1>[CLS]|b|<2>[SEP]");
  EXPECT_EQ(show(tokens, "[CLS][CLS]"), "<1>[CLS]|<1>[CLS]");
  EXPECT_EQ(show(tokens, "[[CLS]]"), "[|<1>[CLS]|]");
  EXPECT_EQ(show(tokens, "[CLS"), "[CLS");
}

TEST(AddedTokens, TheLeftmostLongestMatchWins) {
  const AddedTokens tokens = make({{"ab", 1}, {"abcd", 2}, {"bcdef", 3}});
  EXPECT_EQ(show(tokens, "abcdef"), "<2>abcd|ef");
  EXPECT_EQ(show(tokens, "abc"), "<1>ab|c");
}

TEST(AddedTokens, TheFirstOfEqualContentsCounts) {
  EXPECT_EQ(show(make({{"x", 1}, {"x", 2}}), "x"), "<1>x");
}

TEST(AddedTokens, SingleWordNeedsBorders) {
  const AddedTokens tokens = make({{.content = "ab", .id = 1, .single_word = true}});
  EXPECT_EQ(show(tokens, "ab"), "<1>ab");
  EXPECT_EQ(show(tokens, "-ab-"), "-|<1>ab|-");
  EXPECT_EQ(show(tokens, "xab abé ab_ ab"), "xab abé ab_ |<1>ab");
}

TEST(AddedTokens, StripTakesTheSpacesBeside) {
  const AddedTokens tokens = make({{.content = "<m>", .id = 1, .lstrip = true, .rstrip = true}});
  EXPECT_EQ(show(tokens, "a \u3000<m> \tb"), "a|<1> \u3000<m> \t|b");
  EXPECT_EQ(show(tokens, "a <m> <m>"), "a|<1> <m> |<1><m>");  // spaces are taken once
}

// The package's search goes on behind the token itself, so spaces that rstrip took can begin another token.
TEST(AddedTokens, SpacesTakenByStripCanStillBeginAToken) {
  const AddedTokens tokens = make({{.content = "é", .id = 1, .rstrip = true}, {" a", 2}});
  EXPECT_EQ(show(tokens, "é a"), "<1>é |<2> a");
}

}  // namespace
}  // namespace anelane
