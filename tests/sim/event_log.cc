// Formatting of log lines. Milliseconds are printed with the decimals they have, at most three.
#include "event_log.h"

#include <cstdio>

namespace anelane::sim {
namespace {

constexpr const char* kNames[] = {"admit_start", "admit_end", "evict_start", "evict_end", "grant", "release",
                                  "answer",      "drop",      "fault",       "exit",      "ready", "retired",
                                  "prewarm_end", "open",      "asks",        "cancelled"};
constexpr const char* kOutcomes[] = {"compiled", "loaded", "error", "refused", "lost"};

std::string ms_text(Time t) {
  char text[40];
  if (t % 1000 == 0)
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(t / 1000));
  else
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(t / 1000),
                  static_cast<long long>(t % 1000));
  return text;
}

std::string list(const std::vector<uint32_t>& shapes) {
  std::string out = "[";
  for (const uint32_t s : shapes) out += (out.size() > 1 ? "," : "") + std::to_string(s);
  return out + "]";
}

bool has_shape(Ev ev) {
  return ev <= Ev::kEvictEnd || ev == Ev::kDrop;
}
bool has_model(Ev ev) {
  return has_shape(ev) || (ev >= Ev::kFault && ev <= Ev::kPrewarmEnd);
}

}  // namespace

std::string line_json(const LogLine& l, const std::vector<Model>& models) {
  std::string out = "{\"t\":" + ms_text(l.t) + ",\"ev\":\"" + kNames[static_cast<size_t>(l.ev)] + "\"";
  if (has_model(l.ev)) out += ",\"model\":" + Json(models[l.model].name).dump();
  if (has_shape(l.ev)) out += ",\"shape\":" + std::to_string(l.shape);
  if (!has_model(l.ev)) out += ",\"id\":" + std::to_string(l.id);
  if (l.ev == Ev::kAdmitEnd)
    out += std::string(",\"outcome\":\"") + kOutcomes[static_cast<size_t>(l.outcome)] + "\"";
  if (l.ev == Ev::kAnswer) {
    out += std::string(",\"code\":\"") + code_info(l.code).name + "\"";
    if (l.retry_after_ms > 0) out += ",\"retry_after_ms\":" + std::to_string(l.retry_after_ms);
  }
  if (l.ev == Ev::kPrewarmEnd)
    out += ",\"loaded\":" + list(l.loaded) + ",\"already_resident\":" + list(l.already_resident) +
           ",\"skipped_for_budget\":" + list(l.skipped);
  return out + "}";
}

uint64_t hash_lines(const std::vector<LogLine>& lines) {
  uint64_t h = 0xcbf29ce484222325ull;
  const auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
  };
  for (const LogLine& l : lines) {
    mix(static_cast<uint64_t>(l.t));
    mix(static_cast<uint64_t>(l.ev) << 40 | static_cast<uint64_t>(l.outcome) << 32 | l.shape);
    mix(static_cast<uint64_t>(l.model) << 32 | static_cast<uint32_t>(l.code));
    mix(l.id);
    mix(l.retry_after_ms);
    for (const auto* shapes : {&l.loaded, &l.already_resident, &l.skipped})
      for (const uint32_t s : *shapes) mix(s);
  }
  return h;
}

}  // namespace anelane::sim
