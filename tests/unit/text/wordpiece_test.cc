#include "text/wordpiece.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

WordPiece make(std::vector<std::pair<std::string, int32_t>> vocab, uint32_t max_chars = 100) {
  Result<WordPiece> model = WordPiece::make({.vocab = std::move(vocab), .max_word_chars = max_chars});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

std::vector<int32_t> ids(const WordPiece& model, std::string_view word) {
  std::vector<int32_t> out;
  model.append_ids(word, &out);
  return out;
}

using Ids = std::vector<int32_t>;

TEST(WordPiece, TheLongestPieceFromTheStartWins) {
  const WordPiece model = make({{"[UNK]", 0}, {"un", 1}, {"##aff", 2}, {"##able", 3}, {"u", 4}, {"##a", 5}});
  EXPECT_EQ(ids(model, "unaffable"), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(model, "una"), (Ids{1, 5}));
}

TEST(WordPiece, AWordWithoutPiecesIsOneUnknown) {
  const WordPiece model = make({{"[UNK]", 7}, {"un", 1}, {"##x", 2}});
  EXPECT_EQ(ids(model, "unxq"), (Ids{7}));
  EXPECT_EQ(ids(model, "q"), (Ids{7}));
}

TEST(WordPiece, PiecesEndBetweenCharacters) {
  const WordPiece model = make({{"[UNK]", 0}, {"é", 1}, {"##字", 2}, {"##\xc3", 3}});
  EXPECT_EQ(ids(model, "é字"), (Ids{1, 2}));
  EXPECT_EQ(ids(model, "éé"), (Ids{0}));  // not the half character of the vocabulary
  // Nor where the longest token of the vocabulary ends within a character.
  const WordPiece cut = make({{"[UNK]", 0}, {"x", 1}, {"##ab\xc3", 2}, {"##\xa9", 3}});
  EXPECT_EQ(ids(cut, "xabé"), (Ids{0}));
}

TEST(WordPiece, WordsBeyondTheLimitAreUnknown) {
  const WordPiece model = make({{"[UNK]", 0}, {"é", 1}, {"##é", 2}}, 3);
  EXPECT_EQ(ids(model, "ééé"), (Ids{1, 2, 2}));
  EXPECT_EQ(ids(model, "éééé"), (Ids{0}));
}

TEST(WordPiece, TheLastOfEqualTokensCounts) {
  const WordPiece model = make({{"[UNK]", 0}, {"a", 1}, {"a", 2}});
  EXPECT_EQ(ids(model, "a"), (Ids{2}));
  EXPECT_EQ(model.size(), 2u);
}

TEST(WordPiece, AVocabularyWithoutUnknownIsRefused) {
  EXPECT_EQ(WordPiece::make({.vocab = {}}).status().code(), Code::kModelInvalid);
  const Status status = WordPiece::make({.vocab = {{"a", 0}}}).status();
  EXPECT_EQ(status.code(), Code::kModelInvalid);
  EXPECT_NE(status.message().find("[UNK]"), std::string::npos);
}

}  // namespace
}  // namespace anelane
