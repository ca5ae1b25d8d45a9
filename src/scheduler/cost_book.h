// What admissions cost: seeds, measured times, the machine factor, and which rungs the daemon's cache holds
// (L4.4, L4.5, L4.7). Integers only, so that every compiler computes the same predictions.
#pragma once
#include <array>
#include <cstdint>

#include "scheduler/types.h"

namespace anelane::sched {

// How much slower this machine compiles than the seeds say: a ratio of two sums, kept as such.
class MachineFactor {
 public:
  // One shape was measured: `before` is its former measurement, kUnknown the first time.
  void measured(Time seed, Time before, Time now);
  // seed × factor, the factor within [1/8, 8], rounded to the nearest microsecond.
  Time scale(Time seed) const;
  double value() const;

 private:
  int64_t measured_sum_ = 0;
  int64_t seed_sum_ = 0;
};

// The costs of one worker's rungs.
class CostBook {
 public:
  explicit CostBook(const WorkerSpec& spec);

  // A new process reports what the daemon holds.
  void report_cached(uint32_t mask) { cached_ = reports_cache_ ? mask : 0; }
  bool predicts_load(uint32_t rung) const { return (cached_ >> rung & 1u) != 0; }
  Time compile_cost(uint32_t rung, const MachineFactor& factor) const;
  Time load_cost(uint32_t rung) const { return load_[rung]; }
  Time measured_compile(uint32_t rung) const { return measured_[rung]; }  // kUnknown: not yet
  Time cost(uint32_t rung, const MachineFactor& factor) const {
    return predicts_load(rung) ? load_cost(rung) : compile_cost(rung, factor);
  }
  // An admission succeeded. `elapsed` is kUnknown when it must not be learned (L4.7).
  void learn(uint32_t rung, Time elapsed, uint32_t cache_hit, uint32_t compiled, MachineFactor& factor);

 private:
  bool reports_cache_;
  uint32_t cached_ = 0;
  std::array<Time, limits::kMaxRungs> seed_{};
  std::array<Time, limits::kMaxRungs> measured_{};
  std::array<Time, limits::kMaxRungs> load_{};
};

}  // namespace anelane::sched
