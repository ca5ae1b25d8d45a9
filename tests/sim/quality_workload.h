// Workloads for measuring how good the schedule is: models of three sizes with the measured costs of
// data/seed_costs.tsv, every shape asked for once, room for all, nobody's bound in the way. So what differs
// between two policies is their order alone.
#pragma once
#include "draws.h"
#include "workload.h"

namespace anelane::sim {

enum class Arrivals : uint8_t {
  kBatch,  // all at once
  kMixed,  // small and wide, in bursts, over the time that the compiles take
};
enum class Cache : uint8_t {
  kCold,
  kSome,  // three shapes in ten
  kAll,
  kAny,  // each workload draws one of these
};

struct QualityTemper {
  Arrivals arrivals = Arrivals::kMixed;
  Cache cache = Cache::kSome;
  size_t models_max = 8;
  size_t shapes_max = 64;
  double sigma = 0;      // true costs are log-normal around the predicted ones
  bool crowded = false;  // the limits of a real lane, and every shape asked for again and again
};

// Shapes up to this one are the small ones.
inline constexpr uint32_t kSmallShape = 256;

Workload draw_quality_workload(Draws& draws, const QualityTemper& temper);
// The models alone, with the options.
Workload draw_quality_models(Draws& draws, const QualityTemper& temper);
// What one rung is predicted to take when its model is new.
Time predicted_cost(const RungCosts& rung);

}  // namespace anelane::sim
