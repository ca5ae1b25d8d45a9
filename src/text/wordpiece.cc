// Greedy longest match. The work for one word is bounded by max_word_chars and by the longest token of the
// vocabulary, so the whole is linear in the text.
#include "text/wordpiece.h"

#include <algorithm>

namespace anelane {
namespace {

bool continues(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) == 0x80;
}

size_t count_chars(std::string_view word) {
  return static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char c) { return !continues(c); }));
}

}  // namespace

Result<WordPiece> WordPiece::make(WordPieceSettings settings) {
  WordPiece model;
  model.continuation_ = std::move(settings.continuation);
  model.max_word_chars_ = settings.max_word_chars;
  model.vocab_.reserve(settings.vocab.size());
  for (auto& [token, id] : settings.vocab) {
    model.longest_token_ = std::max(model.longest_token_, token.size());
    model.highest_id_ = std::max(model.highest_id_, id);
    model.vocab_.insert_or_assign(std::move(token), id);
  }
  if (model.vocab_.empty()) return error(Code::kModelInvalid, "the vocabulary is empty");
  model.unknown_id_ = model.find(settings.unknown);
  if (model.unknown_id_ < 0)
    return error(Code::kModelInvalid, "the vocabulary lacks the unknown token \"" + settings.unknown + "\"");
  return model;
}

int32_t WordPiece::find(std::string_view token) const {
  const auto found = vocab_.find(token);
  return found != vocab_.end() ? found->second : -1;
}

void WordPiece::append_ids(std::string_view word, std::vector<int32_t>* ids) const {
  const size_t before = ids->size();
  if (count_chars(word) > max_word_chars_) return ids->push_back(unknown_id_);
  std::string piece;
  for (size_t start = 0; start < word.size();) {
    const std::string_view prefix = start > 0 ? std::string_view(continuation_) : std::string_view();
    if (prefix.size() >= longest_token_) {  // no piece can follow
      ids->resize(before);
      return ids->push_back(unknown_id_);
    }
    size_t end = std::min(word.size(), start + (longest_token_ - prefix.size()));
    while (end < word.size() && continues(word[end])) --end;
    piece.assign(prefix).append(word.substr(start, end - start));
    int32_t id = -1;
    while (end > start && (id = find(piece)) < 0) {
      do --end;
      while (continues(word[end]));
      piece.resize(prefix.size() + (end - start));
    }
    if (id < 0) {
      ids->resize(before);
      return ids->push_back(unknown_id_);
    }
    ids->push_back(id);
    start = end;
  }
}

}  // namespace anelane
