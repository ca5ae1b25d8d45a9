// Random histories under the oracle: many short ones, some long ones, with a liveness phase each; every slot
// transition under every fault; the same history from the same seed.
#include <gtest/gtest.h>

#include <cstdio>

#include "trial.h"

namespace anelane::sim {
namespace {

TEST(RandomWorlds, EveryRuleHoldsAtEveryStepAndEverybodyIsAnsweredInTheEnd) {
  uint64_t steps = 0, passings = 0;
  Oracle::Coverage coverage;
  const auto judge = [&](uint64_t seed, size_t happenings, bool stormy = false) {
    const Verdict v = run_trial(seed, {.happenings = happenings, .stormy = stormy});
    EXPECT_EQ(v.violation, "") << "seed " << seed << ", events " << happenings;
    steps += v.steps;
    passings += v.passings_judged;
    for (const auto& [key, n] : v.coverage) coverage[key] += n;
    return v.violation.empty();
  };
  for (uint64_t seed = 1; seed <= 4000; ++seed)
    if (!judge(seed, 300)) return;
  for (uint64_t seed = 10'001; seed <= 14'800; ++seed)
    if (!judge(seed, 300, true)) return;
  for (uint64_t seed = 100'001; seed <= 100'020; ++seed)
    if (!judge(seed, 20'000)) return;
  std::printf("%llu steps\n", static_cast<unsigned long long>(steps));
  EXPECT_GE(steps, 2'000'000u);
  std::printf("%llu times an entry was passed by another though it could have started\n",
              static_cast<unsigned long long>(passings));
  EXPECT_GE(passings, 10'000u);
  for (const auto& [key, n] : coverage)
    std::printf("  %-22s %-9s %llu\n", key.first.c_str(), key.second.c_str(),
                static_cast<unsigned long long>(n));
  static constexpr const char* kWays[] = {
      "absent>admitting", "admitting>resident", "admitting>absent", "admitting>failed",  "resident>evicting",
      "resident>absent",  "evicting>absent",    "evicting>failed",  "evicting>resident", "failed>absent"};
  for (const char* way : kWays)
    for (const char* fault : {"crash", "error", "refuse", "slow"})
      EXPECT_GE((coverage[{way, fault}]), 100u) << way << " after " << fault;
}

TEST(RandomWorlds, TheSameSeedIsTheSameHistory) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Verdict a = run_trial(seed, {}), b = run_trial(seed, {});
    EXPECT_EQ(a.hash, b.hash);
    EXPECT_EQ(a.steps, b.steps);
  }
}

}  // namespace
}  // namespace anelane::sim
