// Numbers of MIL text.
#pragma once
#include <string_view>

namespace anelane {

// Decimal or hexadecimal, with sign and exponent, inf and nan. False: it is no number. Not empty.
bool parse_number(std::string_view text, double* value);

}  // namespace anelane
