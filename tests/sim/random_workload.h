// Worlds drawn from a seed: models, costs, limits, requests, faults. Small times and tight limits, so that
// the rules meet each other often.
#pragma once
#include "draws.h"
#include "world.h"

namespace anelane::sim {

struct RandomWorld {
  Workload workload;
  Habits habits;
};

// About `happenings` of them. `in_format`: only what the workload format can say.
// `stormy`: crowded, slow to evict, faulty.
RandomWorld draw_world(Draws& draws, size_t happenings, bool in_format = false, bool stormy = false);

}  // namespace anelane::sim
