// The WordPiece model: a word becomes the longest pieces that the vocabulary has, from its start on, or the
// unknown token. Immutable after make, usable from any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace anelane {

struct WordPieceSettings {
  std::vector<std::pair<std::string, int32_t>> vocab;  // of equal tokens the last one counts
  std::string unknown = "[UNK]";
  std::string continuation = "##";
  uint32_t max_word_chars = 100;  // longer words are unknown
};

class WordPiece {
 public:
  // MODEL_INVALID when the vocabulary is empty or lacks the unknown token.
  static Result<WordPiece> make(WordPieceSettings settings);

  // `word` is not empty and well-formed UTF-8.
  void append_ids(std::string_view word, std::vector<int32_t>* ids) const;
  // The id of a token; -1: not in the vocabulary.
  int32_t find(std::string_view token) const;
  size_t size() const { return vocab_.size(); }
  int32_t highest_id() const { return highest_id_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> vocab_;
  std::string continuation_;
  uint32_t max_word_chars_ = 0;
  int32_t unknown_id_ = 0;
  int32_t highest_id_ = 0;
  size_t longest_token_ = 0;  // bytes: no longer piece needs to be looked up
};

}  // namespace anelane
