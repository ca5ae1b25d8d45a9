// The log names beginnings and ends apart; here each end says how long it took and what it was about.
#include "timeline.h"

#include <cstdio>

#include "story.h"

namespace anelane::sim {
namespace {

std::string list(const std::vector<uint32_t>& shapes) {
  std::string out;
  for (const uint32_t s : shapes) out += (out.empty() ? "" : ", ") + std::to_string(s);
  return out.empty() ? "none" : out;
}

bool is_about_worker(Ev ev) {
  return ev <= Ev::kEvictEnd || (ev >= Ev::kDrop && ev <= Ev::kPrewarmEnd);
}

}  // namespace

std::string Timeline::name(const Known& k) const {
  return models_[k.model].name + ":" + std::to_string(k.shape);
}

std::string Timeline::tell(const LogLine& l) {
  char head[64];
  const std::string who = is_about_worker(l.ev) ? models_[l.model].name : "#" + std::to_string(l.id);
  std::snprintf(head, sizeof head, "%12.3f s  %-6s ", static_cast<double>(l.t) / 1e6, who.c_str());
  return head + (is_about_worker(l.ev) ? about_worker(l) : about_request(l));
}

std::string Timeline::about_request(const LogLine& l) {
  const auto after = [&](Time since) {
    return l.t == since ? " at once" : " after " + seconds_text(l.t - since);
  };
  if (l.ev == Ev::kAsk) {
    asked_[l.id] = {l.model, l.shape, l.t};
    return "asks for " + name(asked_[l.id]);
  }
  const Known ask = asked_[l.id];
  switch (l.ev) {
    case Ev::kGrant:
      leased_[l.id] = {ask.model, ask.shape, l.t};
      return "leases " + name(ask) + after(ask.since);
    case Ev::kRelease:
      return "releases " + name(ask) + after(leased_[l.id].since);
    case Ev::kAnswer:
      return "is told " + std::string(code_info(l.code).name) + " for " + name(ask) + after(ask.since) +
             (l.retry_after_ms > 0 ? ": again in " + std::to_string(l.retry_after_ms) + " ms" : "");
    case Ev::kCancel:
      return "is cancelled";
    default:
      return "still waits for " + name(ask) + after(ask.since);
  }
}

std::string Timeline::about_worker(const LogLine& l) {
  const std::string shape = std::to_string(l.shape);
  const auto took = [&] { return " in " + seconds_text(l.t - begun_[{l.model, l.shape}]); };
  static constexpr const char* kOutcomes[] = {"compiled", "loaded from the cache", "failed with an error",
                                              "refused for resources", "lost with its process"};
  switch (l.ev) {
    case Ev::kAdmitStart:
      begun_[{l.model, l.shape}] = l.t;
      return shape + " is being admitted";
    case Ev::kAdmitEnd:
      return shape + " " + kOutcomes[static_cast<size_t>(l.outcome)] + took();
    case Ev::kEvictStart:
      begun_[{l.model, l.shape}] = l.t;
      return shape + " is being evicted";
    case Ev::kEvictEnd:
      return shape + " evicted" + took();
    case Ev::kDrop:
      return shape + " dropped from the queue: nobody waits for it any more";
    case Ev::kFault:
      return fault_text(fault_at(workload_, l.t, l.model));
    case Ev::kExit:
      return "has no process any more";
    case Ev::kReady:
      return "is ready again";
    case Ev::kRetired:
      return "is retired";
    default:
      return "has prewarmed: loaded " + list(l.loaded) + "; resident before " + list(l.already_resident) +
             "; no room for " + list(l.skipped);
  }
}

}  // namespace anelane::sim
