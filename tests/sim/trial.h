// One random history from its seed to its verdict.
#pragma once
#include "oracle.h"
#include "random_workload.h"

namespace anelane::sim {

struct Trial {
  size_t happenings = 200;
  int planted_bug = 0;  // effective in the build with planted bugs only
  bool judged = true;   // false: no oracle, for speed
  bool plain = false;   // only what the workload format can say, without the liveness phase
  bool stormy = false;
  bool records = true;  // false: no log and no hash of it, for speed
};

struct Verdict {
  std::string violation;  // empty: all well
  uint64_t steps = 0;
  uint64_t hash = 0;
  Oracle::Coverage coverage;
  uint64_t passings_judged = 0;
  Workload workload;
  Habits habits;
  bool healed = false;  // the history got as far as the liveness phase
  std::vector<LogLine> log;
};

Verdict run_trial(uint64_t seed, const Trial& trial);
Verdict run_trial(Draws& draws, const Trial& trial);
// The liveness phase, after the workload's end.
void heal_and_go_on(World& world);

}  // namespace anelane::sim
