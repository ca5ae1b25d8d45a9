// Is retry_after_ms true? Clients with short deadlines are told SHAPE_COMPILING; they come back exactly then.
// A promise was kept if the shape is resident at that moment, or ready within two settles of it.
#pragma once
#include "quality_workload.h"
#include "world.h"

namespace anelane::sim {

struct HonestyTemper {
  Cache cache = Cache::kAny;
  double sigma = 0;  // true costs are log-normal around the predicted ones
  // Nobody asks for something new that would go before a promised shape.
  bool no_lower_keys = false;
  bool crowded = false;  // the limits of a real lane: what is resident may have to go
  bool lone = false;     // one request in each world
  // Every shape was compiled once before, so that its cost is known; then the workers were started anew and
  // the daemon forgot everything.
  bool measured = false;
  double redraw_sigma = 0;  // each admission's cost is log-normal around the true one, drawn anew
};

struct HonestyFigures {
  size_t promises = 0, kept = 0;
  // Of the missed ones: those whose worker ran an admission of the other gate first that was not running when
  // the promise was made. The prediction of L4.9 counts what is ahead at the same gate only.
  size_t missed_behind_own_worker = 0;
  // How long it really took, over what was promised (at least what two settles let off); sorted.
  std::vector<double> ratios;
  double kept_share() const {
    return promises == 0 ? 0 : static_cast<double>(kept) / static_cast<double>(promises);
  }
  // The share that would have been kept had every promise been this many times as long.
  double share_within(double factor) const;
  // By which factor promises would have to be longer for this share of them to be kept.
  double factor_for(double share) const;
};

HonestyFigures measure_honesty(const HonestyTemper& temper, uint64_t first_seed, int worlds);

}  // namespace anelane::sim
