// Text of other programs and files, for a terminal.
#pragma once
#include <string>
#include <string_view>

namespace anelane_tool {

// Control characters (C0, DEL, C1) as \xNN, bytes that are not valid UTF-8 as U+FFFD: nothing that moves a
// cursor, sets a title or begins a line.
std::string printable(std::string_view text);

}  // namespace anelane_tool
