// Draws and erases one line on stderr. Invariant: text_ is what the terminal's last line shows; whoever
// writes to stderr while it is not empty erases it first. Called from the library's completion thread
// (progress), its other threads (log) and the main thread: a mutex orders them. A pipe or file never sees a
// byte of it.
#include "progress_line.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace anelane_tool {
namespace {

bool terminal_can_erase() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine() : enabled_(terminal_can_erase()) {}

ProgressLine::~ProgressLine() {
  erase();
}

void ProgressLine::draw() {
  std::fprintf(stderr, "%s%s", kEraseLine, text_.c_str());
  std::fflush(stderr);
}

void ProgressLine::show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!enabled_ || text == text_) return;
  text_ = text;
  draw();
}

void ProgressLine::erase() {
  const std::lock_guard lock(mutex_);
  if (text_.empty()) return;
  text_.clear();
  draw();
}

void ProgressLine::print_above(const char* line) {
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "%s%s\n", text_.empty() ? "" : kEraseLine, line);
  if (!text_.empty()) draw();
}

std::string ProgressLine::describe(uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left) {
  std::string text =
      "shape " + std::to_string(shape) + ": layer " + std::to_string(layer) + " of " + std::to_string(layers);
  if (ms_left > 0) text += ", about " + std::to_string((ms_left + 999) / 1000) + " s left";
  return text;
}

void ProgressLine::on_progress(void* user, uint32_t shape, uint32_t layer, uint32_t layers,
                               uint64_t ms_left) {
  static_cast<ProgressLine*>(user)->show(describe(shape, layer, layers, ms_left));
}

}  // namespace anelane_tool
