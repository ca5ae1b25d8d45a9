// A number for everything in the scheduler that decides what comes next: two states with the same number
// behave alike from here on. Times count from now and tickets by their order, so that two histories that led
// to the same situation are seen as such.
#pragma once
#include <cstdint>

#include "scheduler/scheduler.h"

namespace anelane::sched {

class CoreDigest {
 public:
  static uint64_t of(const Scheduler& scheduler);

 private:
  struct Sum;
};

}  // namespace anelane::sched
