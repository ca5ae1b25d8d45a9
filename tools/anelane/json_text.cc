// JSON writing for a handful of fixed shapes: strings with everything escaped that RFC 8259 asks for, and
// floats that survive the way through text bit by bit (std::to_chars, independent of the locale). No state.
#include "json_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "text_input.h"

namespace anelane_tool {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\\ufffd";
      ++i;
    } else if (length > 1) {
      out += text.substr(i, length);
      i += length;
    } else {
      if (byte == '"' || byte == '\\') {
        out += '\\';
        out += text[i];
      } else if (byte < 0x20 || byte == 0x7f) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", byte);
        out += escape;
      } else {
        out += text[i];
      }
      ++i;
    }
  }
  return out + '"';
}

std::string json_number(float value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end.ptr);
}

std::string number_text(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return json_number(value);
}

}  // namespace anelane_tool
