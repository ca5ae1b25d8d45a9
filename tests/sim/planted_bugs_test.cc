// Every deliberate fault must be found by random histories within a stated number of seeds. A bug that is not
// found is a hole in the oracle.
#include <gtest/gtest.h>

#include <cstdio>

#include "scheduler/planted.h"
#include "trial.h"

namespace anelane::sim {
namespace {

constexpr uint64_t kSeedsMax = 4000;

TEST(PlantedBugs, EachIsFoundWithinTheStatedNumberOfSeeds) {
  std::printf("%4s  %6s  %-56s %s\n", "bug", "seeds", "what was planted", "what gave it away");
  for (int bug = 1; bug < static_cast<int>(std::size(sched::kPlantedBugs)); ++bug) {
    uint64_t seed = 1;
    std::string found;
    for (; seed <= kSeedsMax && found.empty(); ++seed)
      found = run_trial(seed, {.planted_bug = bug}).violation;
    const std::string first_line = found.substr(0, found.find('\n'));
    std::printf("%4d  %6llu  %-56s %s\n", bug, static_cast<unsigned long long>(seed - 1),
                sched::kPlantedBugs[bug], first_line.c_str());
    EXPECT_FALSE(found.empty()) << "bug " << bug << ": " << sched::kPlantedBugs[bug];
  }
}

TEST(PlantedBugs, WithoutOneTheSameSeedsAreClean) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Verdict v = run_trial(seed, {});
    ASSERT_EQ(v.violation, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace anelane::sim
