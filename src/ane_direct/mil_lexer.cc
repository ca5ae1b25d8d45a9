// Tokens: names (letters, digits, _), numbers (sign, decimal or hexadecimal, with exponent), strings in
// double quotes without escapes that matter to us, "->", and single symbols. Blanks separate; there are no
// comments in what Core ML writes, and none are accepted. Every byte is looked at once; no recursion.
#include "ane_direct/mil_lexer.h"

namespace anelane {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string place_text(SourcePlace place) {
  std::string text = "line ";
  text += std::to_string(place.line);
  text += ", column ";
  text += std::to_string(place.column);
  return text;
}

Status invalid_program(SourcePlace place, std::string_view what) {
  return error(Code::kCompileFailed, "InvalidMILProgram: " + place_text(place) + ": " + std::string(what));
}

void MilLexer::skip_blanks() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++place_.column;
    } else {
      return;
    }
  }
}

Token MilLexer::take(TokenKind kind, size_t length) {
  const Token token{kind, text_.substr(at_, length), place_};
  at_ += length;
  place_.column += static_cast<uint32_t>(length);
  return token;
}

Result<Token> MilLexer::string_token() {
  size_t length = 1;
  for (; peek(length) != '"'; ++length) {
    const char c = peek(length);
    if (at_ + length >= text_.size() || c == '\n') return invalid_program(place_, "the string does not end");
    if (c == '\\') ++length;
  }
  Token token = take(TokenKind::kString, length + 1);
  token.text = token.text.substr(1, length - 1);
  return token;
}

Result<Token> MilLexer::next() {
  skip_blanks();
  if (at_ >= text_.size()) return take(TokenKind::kEnd, 0);
  const char c = peek();
  if (c == '"') return string_token();
  size_t length = 1;
  if (is_letter(c)) {
    while (is_letter(peek(length)) || is_digit(peek(length))) ++length;
    return take(TokenKind::kName, length);
  }
  if (c == '-' && peek(1) == '>') return take(TokenKind::kArrow, 2);
  if (is_digit(c) ||
      ((c == '-' || c == '+' || c == '.') && (is_digit(peek(1)) || is_letter(peek(1)) || peek(1) == '.'))) {
    const auto in_number = [&](size_t i) {
      const char d = peek(i);
      const char before = peek(i - 1);
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      return is_digit(d) || is_letter(d) || d == '.' || ((d == '+' || d == '-') && exponent);
    };
    while (in_number(length)) ++length;
    return take(TokenKind::kNumber, length);
  }
  constexpr std::string_view kSymbols = "()[]{}<>,;=:";
  if (kSymbols.find(c) != std::string_view::npos) return take(TokenKind::kSymbol, 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint8_t byte = static_cast<uint8_t>(c);
  return invalid_program(place_, std::string("unexpected byte 0x") + kDigits[byte >> 4] + kDigits[byte & 15]);
}

}  // namespace anelane
