// How good the schedule is: one workload under the scheduler, and the same under other policies.
#pragma once
#include "baselines.h"
#include "quality_workload.h"
#include "world.h"

namespace anelane::sim {

// For how long each gate had work, and for how long of that it stood open although an entry was settled, its
// worker free and its room there.
struct GateTimes {
  Time with_work[2] = {};
  Time idle[2] = {};
};

struct QualityRun {
  std::vector<Job> jobs;
  std::vector<bool> small;
  std::vector<Time> ready;  // under the scheduler
  GateTimes gates;
};

QualityRun run_quality(const Workload& workload);

enum class Which : uint8_t { kAll, kSmall, kSmallCompiled };
// Mean of ready minus arrival, in µs (0 without any).
double mean_delay(const QualityRun& run, const std::vector<Time>& ready, Which which);

// What many drawn workloads of one kind show together.
struct QualityFigures {
  int worlds = 0;
  size_t shapes = 0;
  // Means over worlds of the mean delays, in µs.
  struct Means {
    double all = 0, small = 0, small_compiled = 0;
  };
  Means ours, at_once, fcfs, shortest;
  double least = 0;
  // The worst world: ours minus first come first served, in settles; ours over shortest first and over the
  // least that is possible, one settle let off.
  double worst_settles_over_fcfs = 0, worst_settles_over_fcfs_small = 0, worst_over_shortest = 0,
         worst_over_least = 0;
  GateTimes gates;
  double idle_share(int gate) const {
    return gates.with_work[gate] == 0
               ? 0
               : static_cast<double>(gates.idle[gate]) / static_cast<double>(gates.with_work[gate]);
  }
};

QualityFigures measure_quality(const QualityTemper& temper, uint64_t first_seed, int worlds);

}  // namespace anelane::sim
