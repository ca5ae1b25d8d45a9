// What a compile is expected to take on a machine that has compiled nothing yet (L4.4): measured seconds a
// layer by model width and shape (data/seed_costs.tsv), interpolated. Asked once for each rung, when a model
// is loaded.
#pragma once
#include <cstdint>

#include "scheduler/types.h"

namespace anelane::sched {

// All layers of one rung.
Time seed_compile_cost(uint32_t layers, uint32_t width, uint32_t shape);
// The same from the daemon's cache (L4.5).
inline Time seed_load_cost(uint32_t layers) {
  return static_cast<Time>(layers) * 20'000;
}

}  // namespace anelane::sched
