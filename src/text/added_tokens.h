// Tokens that are found in the text itself, before it is split into words: "[CLS]" in a text is the special
// token. Immutable after the last add(), then usable from any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anelane {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the spaces before it
  bool rstrip = false;       // takes the spaces behind it
};

// A piece of text: an added token, or (id -1) text in between.
struct TextPiece {
  std::string_view text;
  int32_t id = -1;
};

// A set of added tokens that are matched leftmost, longest first.
class AddedTokens {
 public:
  void add(AddedToken token);  // empty content is ignored; the first of equal contents counts
  bool empty() const { return tokens_.empty(); }
  // The text in pieces, in order, none empty. `text` must be well-formed UTF-8.
  std::vector<TextPiece> split(std::string_view text) const;

 private:
  struct Node {
    std::unordered_map<uint8_t, uint32_t> next;
    int32_t token = -1;  // index of the token that ends here
  };
  const AddedToken* longest_at(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> trie_{1};
  bool starts_[256] = {};  // first bytes of tokens
};

}  // namespace anelane
