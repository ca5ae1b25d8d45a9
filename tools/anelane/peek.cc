#include "peek.h"

#include <algorithm>
#include <chrono>

#include "json_members.h"

namespace anelane_tool {
namespace {

using nlohmann::json;

std::string text(const json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

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
  const json all = json::parse(peek, nullptr, false);
  const auto unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const int64_t age_ms = std::max<int64_t>(unix_ms.count() - number(at(all, "as_of_unix_ms")), 0);
  const json none = json::array();
  for (const json& model : at(all, "stale") == json(true) ? none : list(at(at(all, "lane"), "models"))) {
    const int64_t wait_ms = number(at(model, "retry_after_ms")) - age_ms;
    // One that cannot be started because the machine lacks something waits, too, and has not crashed.
    if (at(model, "state") == json("quarantined") && wait_ms > 0)
      loops.push_back({text(at(model, "name")), 0, wait_ms, text(at(model, "last_fault"))});
  }
  for (const json& loop : list(at(all, "crash_loops"))) {
    const std::string name = text(at(loop, "model"));
    const bool told =
        std::any_of(loops.begin(), loops.end(), [&](const CrashLoop& l) { return l.model == name; });
    if (!told) loops.push_back({name, number(at(loop, "crashes")), number(at(loop, "retry_after_ms")), ""});
  }
  return loops;
}

std::string words(const CrashLoop& loop) {
  std::string text = loop.model + ": ";
  text += loop.crashes == 0   ? "its workers keep ending"
          : loop.crashes == 1 ? "1 worker ended before serving anything"
                              : std::to_string(loop.crashes) + " workers ended before serving anything";
  if (loop.wait_ms > 0)
    text += ", none is started for another " + std::to_string((loop.wait_ms + 999) / 1000) + " s";
  return loop.last_fault.empty() ? text : text + ". Why: " + loop.last_fault;
}

}  // namespace anelane_tool
