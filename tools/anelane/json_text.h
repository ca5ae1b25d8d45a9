// The little JSON that the tool writes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace anelane_tool {

// `text` as a JSON string, quotes included. Bytes that are not valid UTF-8 come out as U+FFFD.
std::string json_string(std::string_view text);
// The shortest number that reads back as exactly this float. Infinities and NaN, which JSON lacks, as null.
std::string json_number(float value);
// The same for people: nan, inf and -inf are said.
std::string number_text(float value);

}  // namespace anelane_tool
