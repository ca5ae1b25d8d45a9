// How good the schedule is: one workload under the scheduler, and the same under other policies.
#pragma once
#include <array>

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

enum class Policy : uint8_t {
  kLane,
  kAllAtOnce,
  kAllAtOnceOneWay,
  kFirstCome,
  kFirstComeTwoWays,
  kShortestFirst,
  kLowestKey,
  kLowestKeyWorkersApart,
};
inline constexpr size_t kPolicies = 8;
const char* name_of(Policy policy);
// When each job is ready under a policy.
std::vector<Time> ready_under(const QualityRun& run, Policy policy);

enum class Which : uint8_t { kAll, kSmall, kSmallCompiled, kSmallLoaded };
// Mean of ready minus arrival, in µs (0 without any).
double mean_delay(const QualityRun& run, const std::vector<Time>& ready, Which which);

// What many drawn workloads of one kind show together.
struct QualityFigures {
  int worlds = 0;
  size_t shapes = 0;
  // Means over worlds of the mean delays, in µs.
  struct Means {
    double all = 0, small = 0, small_compiled = 0, small_loaded = 0;
  };
  std::array<Means, kPolicies> means;
  const Means& of(Policy policy) const { return means[static_cast<size_t>(policy)]; }
  // What single worlds lose against a policy, in settles: mean delay here minus mean delay there.
  struct Loss {
    double worst = -1e9;
    uint64_t seed = 0;   // of the worst world
    int beyond_one = 0;  // worlds that lose more than one settle
  };
  Loss first_come, first_come_small, two_ways_small;
  // The lowest mean that is possible; and the worst world, ours over shortest first and over that, one settle
  // let off.
  double least = 0;
  double worst_over_shortest = 0, worst_over_least = 0;
  uint64_t worst_over_least_seed = 0;
  GateTimes gates;
  double idle_share(int gate) const {
    return gates.with_work[gate] == 0
               ? 0
               : static_cast<double>(gates.idle[gate]) / static_cast<double>(gates.with_work[gate]);
  }
};

QualityFigures measure_quality(const QualityTemper& temper, uint64_t first_seed, int worlds);

}  // namespace anelane::sim
