// A trie over bytes, walked from every place where a token may start. A match that `single_word` rejects is
// text, and the search goes on behind it, as the package does. Linear in the text times the longest token.
#include "text/added_tokens.h"

#include "text/unicode.h"

namespace anelane {
namespace {

bool has_property(char32_t c, Property property) {
  return (properties_of(c) & property) != 0;
}

// The last code point of a non-empty well-formed text, and where it starts.
char32_t last_code_point(std::string_view text, size_t* start) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  *start = at;
  return next_code_point(text, &at);
}

bool word_touches(std::string_view before, std::string_view behind) {
  size_t at = 0;
  if (!before.empty() && has_property(last_code_point(before, &at), kWord)) return true;
  at = 0;
  return !behind.empty() && has_property(next_code_point(behind, &at), kWord);
}

// Where the spaces at the end of `text` begin, not before `floor`.
size_t trim_end(std::string_view text, size_t floor) {
  size_t end = text.size();
  while (end > floor) {
    size_t start = 0;
    if (!has_property(last_code_point(text.substr(0, end), &start), kSpace)) break;
    end = start;
  }
  return end > floor ? end : floor;
}

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if (!has_property(next_code_point(text, &next), kSpace)) break;
    at = next;
  }
  return at;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  if (token.content.empty()) return;
  uint32_t node = 0;
  for (const char c : token.content) {
    const uint8_t byte = static_cast<uint8_t>(c);
    const auto found = trie_[node].next.find(byte);
    if (found != trie_[node].next.end()) {
      node = found->second;
      continue;
    }
    const uint32_t fresh = static_cast<uint32_t>(trie_.size());
    trie_[node].next.emplace(byte, fresh);
    trie_.emplace_back();
    node = fresh;
  }
  if (trie_[node].token >= 0) return;
  trie_[node].token = static_cast<int32_t>(tokens_.size());
  starts_[static_cast<uint8_t>(token.content[0])] = true;
  tokens_.push_back(std::move(token));
}

const AddedToken* AddedTokens::longest_at(std::string_view text, size_t at) const {
  uint32_t node = 0;
  const AddedToken* found = nullptr;
  for (; at < text.size(); ++at) {
    const auto next = trie_[node].next.find(static_cast<uint8_t>(text[at]));
    if (next == trie_[node].next.end()) break;
    node = next->second;
    if (trie_[node].token >= 0) found = &tokens_[static_cast<size_t>(trie_[node].token)];
  }
  return found;
}

std::vector<TextPiece> AddedTokens::split(std::string_view text) const {
  std::vector<TextPiece> pieces;
  size_t done = 0;  // everything before is in pieces
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = starts_[static_cast<uint8_t>(text[at])] ? longest_at(text, at) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->content.size();
    at = end;
    if (token->single_word && word_touches(text.substr(0, begin), text.substr(end))) continue;
    if (token->lstrip) begin = trim_end(text.substr(0, begin), done);
    if (token->rstrip) end = skip_spaces(text, end);
    if (done < begin) pieces.push_back({text.substr(done, begin - done), -1});
    pieces.push_back({text.substr(begin, end - begin), token->id});
    done = end;  // the search itself goes on at `at`: spaces that rstrip took may begin another token
  }
  if (done < text.size()) pieces.push_back({text.substr(done), -1});
  return pieces;
}

}  // namespace anelane
