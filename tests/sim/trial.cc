// A history runs to its end; then all faults are healed and time goes on, until nobody may be waiting any
// more (the liveness phase).
#include "trial.h"

namespace anelane::sim {
namespace {
// Beyond every bound, promise, back-off and quarantine together.
constexpr Time kLongEnough = 4 * 3600ll * 1'000'000;
}  // namespace

void heal_and_go_on(World& world) {
  world.heal();
  world.run_to(world.now() + kLongEnough);
}

Verdict run_trial(uint64_t seed, const Trial& trial) {
  Draws draws(seed);
  return run_trial(draws, trial);
}

Verdict run_trial(Draws& draws, const Trial& trial) {
  Verdict v;
  RandomWorld drawn = draw_world(draws, trial.happenings, trial.plain, trial.stormy);
#ifdef ANELANE_PLANTED_BUGS
  drawn.workload.options.planted_bug = trial.planted_bug;
#endif
  v.workload = drawn.workload;
  v.habits = drawn.habits;
  World world(drawn.workload, drawn.habits);
  Oracle oracle(world, v.workload);
  if (trial.judged) world.watch(&oracle);
  world.keep_records(trial.records);
  if (trial.plain) {
    world.run();
  } else {
    world.run_to(drawn.workload.until);
  }
  if (!trial.plain && oracle.violation().empty() && world.scheduler().broken().empty()) {
    v.healed = true;
    heal_and_go_on(world);
    if (trial.judged) oracle.check_quiet(world.now());
  }
  v.violation = oracle.violation();
  if (v.violation.empty() && !world.scheduler().broken().empty())
    v.violation = "the core: " + world.scheduler().broken();
  v.steps = world.steps();
  v.hash = hash_lines(world.log());
  v.coverage = oracle.coverage();
  v.passings_judged = oracle.passings_judged();
  v.log = world.take_log();
  return v;
}

}  // namespace anelane::sim
