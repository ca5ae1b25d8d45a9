// The one line on a terminal that says why the tool waits.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>

namespace anelane_tool {

class ProgressLine {
 public:
  // Draws on stderr, and only where that is a terminal that can erase a line.
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Any thread.
  void show(const std::string& text);
  void erase();
  // One whole line of other output on stderr, above the progress line.
  void print_above(const char* line);

  // "shape 128: layer 3 of 6, about 12 s left"
  static std::string describe(uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left);
  // As anelane_model_options::progress, with a ProgressLine as `user`.
  static void on_progress(void* user, uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left);

 private:
  void draw();

  const bool enabled_;
  std::mutex mutex_;
  std::string text_;  // what stands on the terminal; empty: nothing
};

}  // namespace anelane_tool
