// What another process says may hold escape sequences, which a terminal obeys. Not for JSON, which has
// escapes of its own. No state, any thread.
#include "printable.h"

#include <cstdio>

#include "text_input.h"

namespace anelane_tool {

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
    } else if (c1 || byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text[i + length - 1]));
      out += escape;
      i += length;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

}  // namespace anelane_tool
