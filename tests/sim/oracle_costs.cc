// The machine factor is summed anew each time it is needed: slower than the core's way, and another one.
#include "oracle_costs.h"

namespace anelane::sim {

OracleCosts::OracleCosts(const Workload& w) {
  for (const Model& m : w.models) {
    reports_.push_back(m.reports_cache);
    auto& rungs = models_.emplace_back();
    for (const RungCosts& r : m.rungs) rungs.push_back({r.seed, kUnknown, r.load, false});
  }
}

void OracleCosts::report(uint32_t model, uint32_t mask) {
  for (size_t r = 0; r < models_[model].size(); ++r)
    models_[model][r].cached = reports_[model] && (mask >> r & 1u) != 0;
}

Time OracleCosts::compile(uint32_t model, uint32_t rung) const {
  const Rung& r = of(model, rung);
  if (r.measured != kUnknown) return r.measured;
  if (r.seed == kUnknown) return kUnknown;
  Time measured = 0, seeds = 0;
  for (size_t m = 0; m < models_.size(); ++m)
    for (const Rung& other : models_[m])
      if (reports_[m] && other.measured != kUnknown && other.seed > 0) {
        measured += other.measured;
        seeds += other.seed;
      }
  if (seeds == 0) return r.seed;
  if (measured > 8 * seeds) return 8 * r.seed;
  if (8 * measured < seeds) return (r.seed * 2 + 8) / 16;
  // Twice the product against odd halves; the simulator's times keep this inside 80 bits.
  const long double exact =
      static_cast<long double>(r.seed) * static_cast<long double>(measured) / static_cast<long double>(seeds);
  return static_cast<Time>(exact + 0.5L);
}

Time OracleCosts::predicted(uint32_t model, uint32_t rung) const {
  return of(model, rung).cached ? of(model, rung).load : compile(model, rung);
}

void OracleCosts::learned(uint32_t model, uint32_t rung, bool counts, bool compiled, Time elapsed) {
  Rung& r = models_[model][rung];
  if (reports_[model]) r.cached = true;
  if (elapsed == kUnknown) return;
  if (!reports_[model])
    r.measured = elapsed;
  else if (counts && !compiled)
    r.load = elapsed;
  else if (counts)
    r.measured = elapsed;
}

}  // namespace anelane::sim
