// What the tokenizers package knows of code points: see scripts/make-unicode-data for why it is a table of
// its own. Pure functions over constants.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anelane {

enum Property : uint8_t {
  kDropped = 1,      // removed when text is cleaned: NUL, U+FFFD, control, format, private use
  kSpace = 2,        // White_Space
  kPunctuation = 4,  // a word of its own: ASCII symbols and the general categories P*
  kMark = 8,         // removed with accents: general category Mn
  kDecomposes = 16,  // canonical decomposition is another text
  kLowers = 32,      // lower case is another text
  kWord = 64,        // \w of regular expressions: no border of a `single_word` token
  kReorders = 128,   // has a combining class
};

// Bits of Property. Values beyond U+10FFFF have none.
uint8_t properties_of(char32_t c);
// The ideographs that BERT writes as single words. U+2B820..U+2B91F is not among them: the package's list
// starts extension E 256 code points late, and the ids depend on it.
bool is_cjk_ideograph(char32_t c);
// For code points with kReorders; 0 for others.
uint8_t combining_class(char32_t c);
// The lower case of a code point with kLowers.
std::span<const uint32_t> lower_case(char32_t c);
// Appends the full canonical decomposition of a code point with kDecomposes.
void append_decomposition(char32_t c, std::u32string* out);

inline constexpr size_t kValidUtf8 = SIZE_MAX;
// Offset of the first byte that no well-formed UTF-8 text has there (overlong forms, surrogates and values
// beyond U+10FFFF count), or kValidUtf8.
size_t find_invalid_utf8(std::string_view text);
// The code point at *at of well-formed text; moves *at behind it.
char32_t next_code_point(std::string_view text, size_t* at);
void append_utf8(char32_t c, std::string* out);

}  // namespace anelane
