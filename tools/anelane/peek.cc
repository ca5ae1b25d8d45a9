#include "peek.h"

#include <nlohmann/json.hpp>

namespace anelane_tool {

std::string peek_lane(const std::string& lock_dir, anelane_error* err) {
  const char* folder = lock_dir.empty() ? nullptr : lock_dir.c_str();
  std::string text;
  // Read whole: what is too long for the buffer gets longer only by what changes in between.
  for (size_t len = 4096; text.size() < len;) {
    text.assign(2 * len, '\0');
    if (anelane_lane_peek(folder, text.data(), text.size(), &len, err) != ANELANE_OK) return "";
    if (len < text.size()) {
      text.resize(len);
      break;
    }
  }
  return text;
}

std::vector<CrashLoop> crash_loops(const std::string& peek) {
  std::vector<CrashLoop> loops;
  const auto json = nlohmann::json::parse(peek, nullptr, false);
  const auto listed = json.is_object() ? json.find("crash_loops") : json.end();
  if (listed == json.end() || !listed->is_array()) return loops;  // of an older library
  for (const auto& loop : *listed)
    loops.push_back({loop.value("model", std::string()), loop.value("crashes", int64_t{0}),
                     loop.value("retry_after_ms", int64_t{0})});
  return loops;
}

std::string words(const CrashLoop& loop) {
  std::string text = loop.model + ": " + std::to_string(loop.crashes) +
                     (loop.crashes == 1 ? " worker" : " workers") + " ended before serving anything";
  if (loop.wait_ms > 0)
    text += ", none is started for another " + std::to_string((loop.wait_ms + 999) / 1000) + " s";
  return text;
}

}  // namespace anelane_tool
