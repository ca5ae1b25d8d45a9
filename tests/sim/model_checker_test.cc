// The small worlds, with every order of their events to the depth that a test has time for. By hand, deeper:
// scripts/sim --check.
#include "model_checker.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace anelane::sim {
namespace {

constexpr size_t kSituations = 50'000;

std::string text(const CheckResult& r) {
  std::string out = r.violation;
  for (const std::string& line : r.history) out += "\n" + line;
  return out;
}

TEST(ModelChecker, NoOrderOfEventsBreaksARule) {
  size_t situations = 0;
  for (const SmallSetup& setup : small_setups()) {
    const CheckResult r = check_world(setup, {.depth = 40, .situations = kSituations});
    std::printf("%-20s %7zu situations, %8llu moves, every order of %2zu%s\n", setup.name, r.situations,
                static_cast<unsigned long long>(r.moves), r.depth, r.complete ? ", complete" : "");
    EXPECT_EQ(r.violation, "") << setup.name << ": " << text(r);
    EXPECT_TRUE(r.complete || r.situations == kSituations) << setup.name;
    situations += r.situations;
  }
  EXPECT_GE(situations, 300'000u);
  std::printf("%zu situations\n", situations);
}

}  // namespace
}  // namespace anelane::sim
