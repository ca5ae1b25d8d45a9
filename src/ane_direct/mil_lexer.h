// MIL text as tokens with positions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace anelane {

struct SourcePlace {
  uint32_t line = 1;
  uint32_t column = 1;
};
// "line 12, column 9"
std::string place_text(SourcePlace place);
// COMPILE_FAILED in the words of the daemon's compiler for text that it does not accept.
Status invalid_program(SourcePlace place, std::string_view what);

enum class TokenKind : uint8_t { kName, kNumber, kString, kSymbol, kArrow, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // of a string: without its quotes
  SourcePlace place;
  bool is(char symbol) const { return kind == TokenKind::kSymbol && text[0] == symbol; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// One token at a time; the text must outlive the tokens.
class MilLexer {
 public:
  explicit MilLexer(std::string_view text) : text_(text) {}
  Result<Token> next();

 private:
  void skip_blanks();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Token take(TokenKind kind, size_t length);
  Result<Token> string_token();

  std::string_view text_;
  size_t at_ = 0;
  SourcePlace place_;
};

}  // namespace anelane
