// Reads texts. The C interface takes NUL-terminated UTF-8, so a NUL inside a line would silently cut it and
// invalid UTF-8 would be refused by number only: both are found here, where file and line are known. Nothing
// is repaired or dropped; the first fault refuses the whole input. No state.
#include "text_input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace anelane_tool {

size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](size_t i) { return (at(i) & 0xc0u) == 0x80u; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // a continuation byte, or an overlong form
  if (lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = lead == 0xe0 && at(1) < 0xa0;
    const bool surrogate = lead == 0xed && at(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead > 0xf4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  const bool overlong = lead == 0xf0 && at(1) < 0x90;
  const bool beyond = lead == 0xf4 && at(1) >= 0x90;
  return overlong || beyond ? 0 : 4;
}

std::optional<std::string> text_fault(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const std::string where = "byte " + std::to_string(i + 1);
    if (text[i] == '\0') return where + " is NUL, which no text may hold";
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) return where + " is not valid UTF-8";
    i += length;
  }
  return std::nullopt;
}

std::optional<std::string> split_lines(std::string_view content, std::string_view name,
                                       std::vector<InputText>* out) {
  if (content.empty()) return std::string(name) + " holds no line: one line is one text";
  size_t line = 0;
  while (!content.empty()) {
    ++line;
    const size_t end = content.find('\n');
    std::string_view text = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    std::string where = std::string(name) + ":" + std::to_string(line);
    if (const auto fault = text_fault(text)) return where + ": " + *fault;
    out->push_back({std::string(text), std::move(where)});
  }
  return std::nullopt;
}

std::optional<std::string> read_lines(const std::string& path, std::vector<InputText>* out) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, Close> file(standard ? stdin : std::fopen(path.c_str(), "rbe"));
  if (!file) return "cannot open " + name + ": " + std::strerror(errno);
  std::string content;
  char block[1 << 16];
  errno = 0;
  for (size_t got = 0; (got = std::fread(block, 1, sizeof block, file.get())) > 0;)
    content.append(block, got);
  if (std::ferror(file.get()) != 0) return "cannot read " + name + ": " + std::strerror(errno);
  return split_lines(content, name, out);
}

}  // namespace anelane_tool
