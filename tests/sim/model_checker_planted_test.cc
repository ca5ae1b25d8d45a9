// Deliberate faults that every order of events must bring to light: the ones that live in orders, not in
// figures. Each with the shortest history that shows it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "model_checker.h"
#include "scheduler/planted.h"

namespace anelane::sim {
namespace {

// In each world first few, then more: most faults show themselves early.
constexpr size_t kRounds[] = {2'000, 15'000};

std::string find(int bug, size_t* situations, size_t* moves) {
  for (const size_t most : kRounds) {
    for (SmallSetup& setup : small_setups()) {
      setup.world.options.planted_bug = bug;
      const CheckResult r = check_world(setup, {.depth = 40, .situations = most});
      *situations += r.situations;
      *moves = r.history.size();
      if (!r.violation.empty())
        return std::string(setup.name) + ": " + r.violation.substr(0, r.violation.find('\n'));
    }
  }
  return "";
}

TEST(ModelChecker, FindsPlantedBugs) {
  int all = 0;
  std::printf("%4s  %10s  %5s  %-56s %s\n", "bug", "situations", "moves", "what was planted",
              "what gave it away");
  for (int bug = 1; bug < static_cast<int>(std::size(sched::kPlantedBugs)); ++bug) {
    size_t situations = 0, moves = 0;
    const std::string found = find(bug, &situations, &moves);
    all += found.empty() ? 0 : 1;
    std::printf("%4d  %10zu  %5zu  %-56s %s\n", bug, situations, moves, sched::kPlantedBugs[bug],
                found.empty() ? "not found" : found.c_str());
  }
  EXPECT_GE(all, 30);
}

}  // namespace
}  // namespace anelane::sim
