// Both notations, whatever the host's locale says about decimal points. Decimal numbers go through a stream
// of the classic locale; the standard's own from_chars for floats is missing in some libraries that we build
// with.
#include "ane_direct/mil_number.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>

namespace anelane {
namespace {

// "0x1.8p+3" without a sign. Digits beyond 64 bits of mantissa only scale: far below fp16's resolution.
bool parse_hex_float(std::string_view text, double* value) {
  uint64_t mantissa = 0;
  int exponent = 0;
  size_t i = 2;
  bool fraction = false, digits = false;
  for (; i < text.size() && text[i] != 'p' && text[i] != 'P'; ++i) {
    const char c = text[i];
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    int digit = 0;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return false;
    digits = true;
    if ((mantissa >> 60) == 0) {
      mantissa = mantissa * 16 + static_cast<uint64_t>(digit);
      if (fraction) exponent -= 4;
    } else if (!fraction) {
      if (exponent < 1 << 20) exponent += 4;
    }
  }
  if (!digits) return false;
  if (i < text.size()) {
    std::string_view power = text.substr(i + 1);
    if (!power.empty() && power[0] == '+') power.remove_prefix(1);
    int given = 0;
    const auto [end, failed] = std::from_chars(power.data(), power.data() + power.size(), given);
    if (failed != std::errc() || end != power.data() + power.size() || given < -100000 || given > 100000)
      return false;
    exponent += given;
  }
  *value = std::ldexp(static_cast<double>(mantissa), exponent);
  return true;
}

}  // namespace

bool parse_number(std::string_view text, double* value) {
  const bool negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  bool good = false;
  if (text == "inf" || text == "infinity") {
    *value = HUGE_VAL;
    good = true;
  } else if (text == "nan") {
    *value = std::nan("");
    good = true;
  } else if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    good = parse_hex_float(text, value);
  } else {
    std::istringstream stream{std::string(text)};  // strtod would follow the host's locale
    stream.imbue(std::locale::classic());
    stream >> *value;
    good = !stream.fail() && stream.peek() == std::istringstream::traits_type::eof();
  }
  if (negative) *value = -*value;
  return good;
}

}  // namespace anelane
