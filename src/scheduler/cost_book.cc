// Learning and predicting costs. A rung whose layers were all compiled is measured as a compile, one whose
// layers were all loaded as a load; a mixture says nothing about either, only that the rung is cached now.
// A worker that reports no counts is measured as compiling, and stays out of the machine factor (L4.4, L4.5).
#include "scheduler/cost_book.h"

namespace anelane::sched {
namespace {
// A whole layer loaded from the cache, where nobody says better (L4.5).
constexpr Time kSeedLoadPerLayer = 20'000;
constexpr int64_t kFactorMax = 8;
__extension__ using Wide = __int128;
}  // namespace

void MachineFactor::measured(Time seed, Time before, Time now) {
  if (before == kUnknown)
    seed_sum_ += seed;
  else
    measured_sum_ -= before;
  measured_sum_ += now;
}

Time MachineFactor::scale(Time seed) const {
  if (seed_sum_ == 0) return seed;
  if (measured_sum_ >= kFactorMax * seed_sum_) return seed * kFactorMax;
  if (measured_sum_ * kFactorMax <= seed_sum_) return (seed + kFactorMax / 2) / kFactorMax;
  const Wide exact = static_cast<Wide>(seed) * measured_sum_;
  return static_cast<Time>((exact + seed_sum_ / 2) / seed_sum_);
}

double MachineFactor::value() const {
  if (seed_sum_ == 0) return 1;
  const double ratio = static_cast<double>(measured_sum_) / static_cast<double>(seed_sum_);
  return ratio > 8 ? 8 : ratio < 0.125 ? 0.125 : ratio;
}

CostBook::CostBook(const WorkerSpec& spec) : reports_cache_(spec.reports_cache), seed_(spec.seed_compile) {
  measured_.fill(kUnknown);
  for (size_t i = 0; i < load_.size(); ++i)
    load_[i] = spec.seed_load[i] != kUnknown ? spec.seed_load[i] : spec.layers * kSeedLoadPerLayer;
}

Time CostBook::compile_cost(uint32_t rung, const MachineFactor& factor) const {
  if (measured_[rung] != kUnknown) return measured_[rung];
  return seed_[rung] == kUnknown ? kUnknown : factor.scale(seed_[rung]);
}

void CostBook::learn(uint32_t rung, Time elapsed, uint32_t cache_hit, uint32_t compiled,
                     MachineFactor& factor) {
  if (reports_cache_) cached_ |= 1u << rung;
  if (elapsed == kUnknown) return;
  if (!reports_cache_) {
    measured_[rung] = elapsed;
  } else if (compiled == 0 && cache_hit != 0) {
    load_[rung] = elapsed;
  } else if (cache_hit == 0 && compiled != 0) {
    if (seed_[rung] != kUnknown && seed_[rung] > 0) factor.measured(seed_[rung], measured_[rung], elapsed);
    measured_[rung] = elapsed;
  }
}

}  // namespace anelane::sched
