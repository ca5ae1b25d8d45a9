// Where the texts of `anelane embed` come from: the command line, files, stdin.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anelane_tool {

struct InputText {
  std::string text;
  std::string where;  // "--text number 2", "lines.txt:7": for people who have to find it again
};

// Bytes of the UTF-8 sequence at the beginning of a text that is not empty; 0 where it is not valid UTF-8.
size_t utf8_length(std::string_view text);

// Why `text` cannot be embedded ("byte 7 is not valid UTF-8"), or nothing. Bytes are counted from 1.
std::optional<std::string> text_fault(std::string_view text);

// One text a line, "\n" or "\r\n" ended (the last one may lack it), appended to *out; an empty line is the
// text "". Nothing, or the fault with `name` and line. A file without any line is a fault.
std::optional<std::string> split_lines(std::string_view content, std::string_view name,
                                       std::vector<InputText>* out);

// The lines of a file ("-": stdin), appended to *out. Nothing, or the fault.
std::optional<std::string> read_lines(const std::string& path, std::vector<InputText>* out);

}  // namespace anelane_tool
