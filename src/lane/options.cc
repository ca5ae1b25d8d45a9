#include "lane/options.h"

namespace anelane {

std::string first_difference(const LaneOptions& a, const LaneOptions& b) {
#define ANELANE_SAME(field) \
  if (a.field != b.field) return #field
  ANELANE_SAME(engine);
  if (a.thread_mode != b.thread_mode) return "worker_mode";
  if (a.prewarm != b.prewarm) return "flags";
  if (a.apple_route != b.apple_route || a.mil_dialect != b.mil_dialect) return "flags";
  ANELANE_SAME(executable_budget);
  ANELANE_SAME(shapes_per_model);
  ANELANE_SAME(shapes_total);
  ANELANE_SAME(max_waiting);
  ANELANE_SAME(settle_ms);
  ANELANE_SAME(handoff_ms);
  ANELANE_SAME(lease_max_ms);
  ANELANE_SAME(soft_threads);
  ANELANE_SAME(admission_bound_ms);
  ANELANE_SAME(drain_ms);
  ANELANE_SAME(cache_dir);
  ANELANE_SAME(temp_dir);
  ANELANE_SAME(worker_path);
  ANELANE_SAME(record_path);
#undef ANELANE_SAME
  return "";
}

}  // namespace anelane
