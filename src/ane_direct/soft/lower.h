// The back end of the soft compiler: a checked graph becomes a plan.
#pragma once
#include "ane_direct/soft/graph.h"
#include "ane_direct/soft/plan.h"

namespace anelane::soft {

// COMPILE_FAILED when intermediates or weights pass the bounds of limits.h.
Result<Plan> lower(const Graph& graph);

}  // namespace anelane::soft
