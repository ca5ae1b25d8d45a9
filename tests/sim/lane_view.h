// What an oracle needs to see of a world: the scheduler, and which worker serves which model.
#pragma once
#include "scheduler/scheduler.h"

namespace anelane::sim {

class LaneView {
 public:
  virtual ~LaneView() = default;
  virtual sched::Scheduler& scheduler() = 0;
  virtual sched::WorkerId worker_of(uint32_t model) const = 0;
};

}  // namespace anelane::sim
