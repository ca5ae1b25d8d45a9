// Each world has its own temper: how crowded, how faulty, how patient. Drawn first, then followed, so that
// quiet and wild histories both occur.
#include "random_workload.h"

#include <algorithm>

namespace anelane::sim {
namespace {

struct Temper {
  Time gap;       // mean time between happenings
  double faults;  // chance that a happening is a fault
  double retires;
  double cancels;
  double held;  // chance that a lease is held without an exchange
  double deadlines;
  double burst;
  double lazy;  // chance that an offered lease is not taken at once
};

void draw_options(Draws& d, sched::Options& o, bool in_format) {
  static constexpr uint32_t kBudgets[] = {8, 12, 30, 50, 60, 100};
  o.executable_budget = kBudgets[d.below(std::size(kBudgets))];
  o.shapes_per_model = static_cast<uint32_t>(d.within(1, 4));
  o.shapes_total = std::max(o.shapes_per_model, static_cast<uint32_t>(d.within(1, 8)));
  o.settle = d.chance(0.7) ? 50'000 : d.within(0, 200) * 1000;
  if (d.chance(0.5)) o.admission_bound = d.log_within(500, 600'000) * 1000;
  if (d.chance(0.3)) o.handoff = d.within(1, 400) * 1000;
  if (d.chance(0.5)) o.exit_timeout = d.log_within(200, 30'000) * 1000;
  if (d.chance(0.5)) o.gate_hold = d.log_within(200, 35'000) * 1000;
  if (d.chance(0.3)) o.early_evict = d.within(0, 3000) * 1000;
  if (d.chance(0.5)) o.lease_max = d.log_within(300, 30'000) * 1000;
  if (d.chance(0.3)) o.reclaim = d.within(0, 400) * 1000;
  o.parallel_load = d.chance(0.8);
  o.back_off = !in_format && d.chance(0.3);
  o.daemon_goes_on = !in_format && d.chance(0.2);
  if (!in_format && d.chance(0.3)) o.drain = d.log_within(100, 600'000) * 1000;
  if (!in_format && d.chance(0.1)) o.max_waiting = static_cast<uint32_t>(d.within(2, 12));
}

Model draw_model(Draws& d, size_t index, bool in_format) {
  static constexpr uint32_t kLayers[] = {1, 4, 4, 6, 22, 28};
  Model m;
  m.name = std::string(1, static_cast<char>('A' + index));
  m.layers = kLayers[d.below(std::size(kLayers))];
  if (!in_format && d.chance(0.3)) m.program = "P";
  m.evict = d.chance(0.5) ? d.within(0, 60) * 1000 : d.log_within(50, 2000) * 1000;
  m.prewarm = d.chance(0.25);
  m.reports_cache = d.chance(0.85);
  const size_t rungs = 1 + d.below(4);
  const double accuracy = d.unit();
  for (size_t r = 0; r < rungs; ++r) {
    RungCosts c;
    c.shape = 128u << r;
    c.truth = d.log_within(20, 20'000) * 1000;
    if (!d.chance(0.15))
      c.seed = accuracy < 0.4 ? c.truth : std::max<Time>(1000, c.truth * d.within(3, 30) / 10);
    c.load = d.within(1, 600) * 1000;
    c.true_load = d.chance(0.7) ? c.load : d.within(1, 900) * 1000;
    c.cached = d.chance(0.3);
    m.rungs.push_back(c);
  }
  return m;
}

Happening draw_request(Draws& d, const Workload& w, const Temper& temper, Time t, uint64_t id,
                       bool in_format) {
  Happening h{.t = t, .op = Op::kRequest, .id = id};
  h.model = static_cast<uint32_t>(d.below(w.models.size()));
  // One draw after the other: the order of a call's arguments is the compiler's choice.
  const uint64_t one = d.below(w.models[h.model].rungs.size());
  const uint64_t other = d.below(4);
  h.rung = static_cast<uint32_t>(std::min(one, other));
  h.rung = std::min<uint32_t>(h.rung, static_cast<uint32_t>(w.models[h.model].rungs.size() - 1));
  if (d.chance(temper.deadlines)) h.deadline = t + d.log_within(10, 60'000) * 1000;
  if (h.deadline != kNever && d.chance(0.5)) {
    // Close to what is predicted: early answers and the guard against overtaking live here.
    const RungCosts& c = w.models[h.model].rungs[h.rung];
    h.deadline = t + w.options.settle + std::max(c.seed, c.load) * d.within(8, 40) / 10;
  }
  if (!d.chance(temper.held)) h.hold = d.log_within(1, 3000) * 1000;
  if (d.chance(temper.lazy)) h.take = d.within(1, 600) * 1000;
  if (!in_format) {
    h.fast_path = d.chance(0.5);
    h.no_pin = d.chance(0.05);
    if (h.no_pin) h.take = 0;
    h.packed = h.no_pin && d.chance(0.5);
  }
  return h;
}

Happening draw_fault(Draws& d, const Workload& w, Time t) {
  Happening h{.t = t, .op = Op::kFault};
  h.model = static_cast<uint32_t>(d.below(w.models.size()));
  const uint64_t kind = d.below(10);
  h.fault = kind < 4   ? FaultKind::kCrash
            : kind < 6 ? FaultKind::kError
            : kind < 8 ? FaultKind::kRefuse
                       : FaultKind::kSlow;
  if (!d.chance(0.08)) h.exit_after = d.log_within(1, 40'000) * 1000;
  h.restart = d.chance(0.3) ? 0 : d.log_within(1, 4000) * 1000;
  h.deterministic = d.chance(0.4);
  h.factor = static_cast<double>(d.within(1, 12)) / 2;
  return h;
}

}  // namespace

RandomWorld draw_world(Draws& d, size_t happenings, bool in_format, bool stormy) {
  RandomWorld out;
  Workload& w = out.workload;
  draw_options(d, w.options, in_format);
  const size_t models = 1 + d.below(d.chance(0.2) ? 8 : 4);
  for (size_t i = 0; i < models; ++i) w.models.push_back(draw_model(d, i, in_format));
  Temper temper{};
  // Storms: crowded, slow to evict, faulty.
  const bool storm = d.chance(0.2) || stormy;
  if (storm)
    for (Model& m : w.models) m.evict = d.log_within(200, 3000) * 1000;
  temper.gap = d.log_within(1, 2000) * 1000;
  temper.faults = storm ? 0.1 + d.unit() * 0.3 : d.chance(0.5) ? 0 : d.unit() * 0.2;
  temper.retires = d.chance(0.8) ? 0 : 0.01;
  temper.cancels = d.unit() * 0.3;
  temper.held = d.unit();
  temper.deadlines = d.unit() * 0.6;
  // Evictions that wait for a busy stream while their requests leave.
  if (storm && d.chance(0.6)) {
    temper.cancels = 0.3 + d.unit() * 0.3;
    temper.held = 0.1;
    temper.gap = d.log_within(20, 500) * 1000;
  }
  temper.burst = d.unit() * 0.6;
  temper.lazy = d.chance(0.5) ? 0 : d.unit() * 0.6;
  Time t = 0;
  uint64_t id = 0;
  while (w.happenings.size() < happenings && !d.exhausted()) {
    if (!d.chance(temper.burst)) t += d.within(0, 2 * temper.gap / 1000) * 1000;
    if (d.chance(temper.faults)) {
      w.happenings.push_back(draw_fault(d, w, t));
    } else if (d.chance(temper.retires)) {
      w.happenings.push_back({.t = t, .op = Op::kRetire, .model = static_cast<uint32_t>(d.below(models))});
    } else if (id > 0 && d.chance(temper.cancels)) {
      const uint64_t recent = std::min<uint64_t>(id, 12);
      w.happenings.push_back(
          {.t = t, .op = d.chance(0.5) ? Op::kCancel : Op::kRelease, .id = id - d.below(recent)});
    } else if (d.chance(0.02)) {
      const auto m = static_cast<uint32_t>(d.below(models));
      const auto r = static_cast<uint32_t>(d.below(w.models[m].rungs.size()));
      w.happenings.push_back({.t = t, .op = Op::kUncache, .model = m, .rung = r});
    } else {
      w.happenings.push_back(draw_request(d, w, temper, t, ++id, in_format));
    }
  }
  w.until = t + d.log_within(1000, 100'000) * 1000;
  if (!in_format && d.chance(0.5)) {
    out.habits.seed = d.next() | 1;
    out.habits.duplicate_reply = 0.1;
    out.habits.stale_reply = 0.5;
    out.habits.failed_eviction = d.chance(0.3) ? 0.05 : 0;
  }
  return out;
}

}  // namespace anelane::sim
