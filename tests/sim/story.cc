// The log names beginnings and ends; what stands between them is put together here. What a request waited for
// is what happened meanwhile: its own admission, else others' admissions, else room (or a lease held back);
// and first of all the settle.
#include "story.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace anelane::sim {
namespace {

using Slot = std::pair<uint32_t, uint32_t>;  // model, shape

struct Reader {
  const Workload& w;
  Story story = {};
  std::map<Slot, Time> admitting = {}, evicting = {}, resident = {};
  std::map<uint64_t, Asked> open = {};
  std::map<uint64_t, std::pair<Asked, Time>> leased = {};
  std::map<uint64_t, Time> holds = {};
  std::map<uint32_t, Time> down = {};
  std::map<uint32_t, Span> holding = {};

  std::string name(uint32_t model, uint32_t shape) const {
    return w.models[model].name + ":" + std::to_string(shape);
  }
  static std::string between(Time from, Time to) {
    return seconds_text(from) + " to " + seconds_text(to) + ", " + seconds_text(to - from);
  }

  void end_admission(const LogLine& l) {
    const auto it = admitting.find({l.model, l.shape});
    if (it == admitting.end()) return;
    static constexpr const char* kWords[] = {"compiled", "loaded from the cache", "ended with an error",
                                             "refused for resources", "lost"};
    const SpanKind kind = l.outcome == Outcome::kCompiled ? SpanKind::kCompile
                          : l.outcome == Outcome::kLoaded ? SpanKind::kLoad
                                                          : SpanKind::kFailed;
    story.spans.push_back({kind, l.model, l.shape, it->second, l.t,
                           name(l.model, l.shape) + " " + kWords[static_cast<size_t>(l.outcome)] + ", " +
                               between(it->second, l.t)});
    admitting.erase(it);
    if (l.outcome == Outcome::kLost)
      holding[l.model] = {SpanKind::kFailed,
                          l.model,
                          l.shape,
                          l.t,
                          0,
                          "a gate held for the lost admission of " + name(l.model, l.shape)};
    if (kind != SpanKind::kFailed) resident[{l.model, l.shape}] = l.t;
  }
  void end_residency(Slot slot, Time t) {
    const auto it = resident.find(slot);
    if (it == resident.end()) return;
    story.stays.push_back({slot.first, slot.second, it->second, t, 0});
    resident.erase(it);
  }
  void end_lease(uint64_t id, Time t, bool broken) {
    const auto it = leased.find(id);
    if (it == leased.end()) return;
    const auto& [asked, from] = it->second;
    story.stays.push_back({asked.model, asked.shape, from, t, id});
    if (const auto hold = holds.find(id); hold != holds.end() && !broken) {
      const Time begin = std::max(from, t - hold->second);
      story.spans.push_back({SpanKind::kInfer, asked.model, asked.shape, begin, t,
                             "inference of #" + std::to_string(id) + " on " + name(asked.model, asked.shape) +
                                 ", " + between(begin, t)});
    }
    leased.erase(it);
  }
  void end_holding(uint32_t model, Time t) {
    const auto it = holding.find(model);
    if (it == holding.end()) return;
    it->second.to = std::min(t, it->second.from + w.options.gate_hold);
    story.held.push_back(it->second);
    holding.erase(it);
  }
  void end_process(uint32_t model, Time t) {
    end_holding(model, t);
    for (auto it = resident.begin(); it != resident.end();) {
      const Slot slot = (it++)->first;
      if (slot.first == model) end_residency(slot, t);
    }
    for (auto it = leased.begin(); it != leased.end();) {
      const uint64_t id = it->first;
      const bool mine = it->second.first.model == model;
      ++it;
      if (mine) end_lease(id, t, true);
    }
    std::erase_if(evicting, [&](const auto& e) { return e.first.first == model; });
  }
  void finish(uint64_t id, Time t, End end, const std::string& words) {
    const auto it = open.find(id);
    if (it == open.end()) return;
    Asked asked = it->second;
    open.erase(it);
    asked.to = t;
    asked.end = end;
    asked.note = "#" + std::to_string(id) + " asks for " + name(asked.model, asked.shape) + " at " +
                 seconds_text(asked.from) + ", " + words + " after " + seconds_text(t - asked.from);
    if (end == End::kLeased) leased[id] = {asked, t};
    story.asked.push_back(std::move(asked));
  }
  static std::string answer_words(const LogLine& l) {
    std::string out = code_info(l.code).name;
    if (l.retry_after_ms > 0) out += ", again in " + std::to_string(l.retry_after_ms) + " ms,";
    return out;
  }

  void read(const LogLine& l) {
    const Slot slot{l.model, l.shape};
    switch (l.ev) {
      case Ev::kAsk:
        open[l.id] = {.id = l.id, .model = l.model, .shape = l.shape, .from = l.t};
        return;
      case Ev::kGrant:
        return finish(l.id, l.t, End::kLeased, "leased");
      case Ev::kAnswer:
        return finish(l.id, l.t,
                      l.code == Code::kOk               ? End::kReady
                      : l.code == Code::kCancelled      ? End::kCancelled
                      : l.code == Code::kShapeCompiling ? End::kLater
                                                        : End::kRefused,
                      answer_words(l));
      case Ev::kAdmitStart:
        admitting[slot] = l.t;
        return;
      case Ev::kAdmitEnd:
        return end_admission(l);
      case Ev::kEvictStart:
        evicting[slot] = l.t;
        return;
      case Ev::kEvictEnd:
        if (const auto it = evicting.find(slot); it != evicting.end()) {
          story.spans.push_back({SpanKind::kEvict, l.model, l.shape, it->second, l.t,
                                 name(l.model, l.shape) + " evicted, " + between(it->second, l.t)});
          evicting.erase(it);
        }
        return end_residency(slot, l.t);
      case Ev::kRelease:
        return end_lease(l.id, l.t, down_now(l));
      case Ev::kFault: {
        const Happening* fault = fault_at(w, l.t, l.model);
        const bool crash = fault == nullptr || fault->fault == FaultKind::kCrash;
        story.faults.push_back({l.t, l.model,
                                w.models[l.model].name + " " + fault_text(fault) + " at " + seconds_text(l.t),
                                crash});
        if (crash) down.emplace(l.model, l.t);
        return;
      }
      case Ev::kExit:
        end_process(l.model, l.t);
        down.emplace(l.model, l.t);
        return;
      case Ev::kReady:
        end_down(l.model, l.t);
        return;
      case Ev::kDrop:
        story.drops.push_back(
            {l.t, l.model, name(l.model, l.shape) + " dropped: nobody waits for it any more"});
        return;
      default:
        return;
    }
  }
  // A lease released by a crash: its exchange did not end.
  bool down_now(const LogLine& l) const {
    return std::any_of(story.faults.begin(), story.faults.end(), [&](const Mark& f) { return f.t == l.t; });
  }
  void end_down(uint32_t model, Time t) {
    const auto it = down.find(model);
    if (it == down.end()) return;
    story.spans.push_back({SpanKind::kDown, model, 0, it->second, t,
                           w.models[model].name + " has no working process, " + between(it->second, t)});
    down.erase(it);
  }

  void close() {
    const Time t = story.end;
    for (const auto& [slot, from] : admitting)
      story.spans.push_back({SpanKind::kCompile, slot.first, slot.second, from, t,
                             name(slot.first, slot.second) + " is being admitted"});
    for (const auto& [slot, from] : evicting)
      story.spans.push_back({SpanKind::kEvict, slot.first, slot.second, from, t,
                             name(slot.first, slot.second) + " is being evicted"});
    while (!resident.empty()) end_residency(resident.begin()->first, t);
    while (!leased.empty()) end_lease(leased.begin()->first, t, true);
    while (!holding.empty()) end_holding(holding.begin()->first, t);
    while (!down.empty()) end_down(down.begin()->first, t);
    while (!open.empty()) finish(open.begin()->first, t, End::kOpen, "still waiting");
  }

  // Cuts [from, to) by what happened in it.
  void explain(Asked& a) {
    std::vector<Time> cuts{a.from, a.to, std::min(a.to, a.from + w.options.settle)};
    for (const std::vector<Span>* spans : {&story.spans, &story.held})
      for (const Span& s : *spans)
        for (const Time t : {s.from, s.to})
          if (t > a.from && t < a.to) cuts.push_back(t);
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (cuts[i] == cuts[i + 1]) continue;
      Wait wait = reason(a, cuts[i], cuts[i + 1]);
      if (!a.waits.empty() && a.waits.back().kind == wait.kind && a.waits.back().note == wait.note)
        a.waits.back().to = wait.to;
      else
        a.waits.push_back(std::move(wait));
    }
  }
  Wait reason(const Asked& a, Time from, Time to) const {
    std::string others, own_stream;
    bool ended = false;
    for (const Span& s : story.spans) {
      if (s.from > from || s.to < to) continue;
      const bool mine = s.model == a.model;
      switch (s.kind) {
        case SpanKind::kCompile:
        case SpanKind::kLoad:
        case SpanKind::kFailed:
          if (mine && s.shape == a.shape) return {WaitKind::kOwn, from, to, "its own admission"};
          add(&others, "admission of " + name(s.model, s.shape));
          break;
        case SpanKind::kEvict:
          add(&others, "eviction of " + name(s.model, s.shape));
          break;
        case SpanKind::kInfer:
          if (mine) add(&own_stream, "inference on " + name(s.model, s.shape));
          break;
        case SpanKind::kDown:
          ended |= mine;
          break;
      }
    }
    for (const Span& h : story.held)
      if (h.from <= from && h.to >= to) add(&others, h.note);
    if (ended) return {WaitKind::kDown, from, to, "its worker has no working process"};
    if (!others.empty()) return {WaitKind::kGate, from, to, "meanwhile " + others};
    if (!own_stream.empty()) return {WaitKind::kGate, from, to, "on its own stream: " + own_stream};
    if (to <= a.from + w.options.settle) return {WaitKind::kSettle, from, to, "settle"};
    return {WaitKind::kRoom, from, to, "no room, or held back by whoever is short of it"};
  }
  static void add(std::string* to, const std::string& what) { *to += (to->empty() ? "" : ", ") + what; }
};

}  // namespace

std::string seconds_text(Time t) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(t) / 1e6);
  return text;
}

const Happening* fault_at(const Workload& workload, Time t, uint32_t model) {
  for (const Happening& h : workload.happenings)
    if (h.op == Op::kFault && h.t == t && h.model == model) return &h;
  return nullptr;
}

std::string fault_text(const Happening* fault) {
  if (fault == nullptr) return "has a fault";
  switch (fault->fault) {
    case FaultKind::kCrash:
      return "crashes";
    case FaultKind::kError:
      return std::string("will answer its next admission with ") +
             (fault->deterministic ? "a deterministic error" : "an error");
    case FaultKind::kRefuse:
      return "will refuse its next admission for resources";
    case FaultKind::kSlow: {
      char text[64];
      std::snprintf(text, sizeof text, "takes %g times as long from now on", fault->factor);
      return text;
    }
  }
  return "has a fault";
}

Story read_story(const Workload& workload, const std::vector<LogLine>& log) {
  Reader reader{workload};
  for (const Happening& h : workload.happenings)
    if (h.op == Op::kRequest && h.hold != kUnknown) reader.holds[h.id] = h.hold;
  for (const LogLine& l : log) {
    if (l.ev == Ev::kOpen) continue;
    reader.story.end = std::max(reader.story.end, l.t);
    reader.read(l);
  }
  reader.close();
  for (Asked& a : reader.story.asked) reader.explain(a);
  std::sort(reader.story.asked.begin(), reader.story.asked.end(),
            [](const Asked& a, const Asked& b) { return a.from != b.from ? a.from < b.from : a.id < b.id; });
  return std::move(reader.story);
}

}  // namespace anelane::sim
