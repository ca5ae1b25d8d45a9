// The books: limits, evictions under way, earmarks (L2.4, L3.7).
#include "scheduler/ledger.h"

#include <gtest/gtest.h>

namespace anelane::sched {
namespace {

WorkerSpec spec_of(uint32_t layers) {
  WorkerSpec spec;
  spec.layers = layers;
  spec.ladder = {128};
  return spec;
}

TEST(Ledger, L2_4_ExactlyTheBudgetIsAllowed) {
  Options o;
  o.executable_budget = 50;
  Ledger ledger(o);
  Worker a(spec_of(22)), b(spec_of(28));
  ledger.charge(a);
  EXPECT_TRUE(ledger.free_now(b, false).fits(28));
  EXPECT_FALSE(ledger.free_now(b, false).fits(29));
  ledger.charge(b);
  EXPECT_TRUE(ledger.within_limits());
  ledger.charge(b);
  EXPECT_FALSE(ledger.within_limits());
}

TEST(Ledger, L3_7_AnEarmarkCountsForOthersOnly) {
  Options o;
  o.executable_budget = 50;
  Ledger ledger(o);
  Worker a(spec_of(22)), b(spec_of(28)), c(spec_of(10));
  ledger.charge(a);
  ledger.begin_eviction(a);
  ledger.earmark(b);
  EXPECT_TRUE(ledger.free_now(b, true).fits(28));
  EXPECT_FALSE(ledger.free_now(c, false).fits(10));
  EXPECT_TRUE(ledger.free_soon(c, false).fits(10));  // 28 + 22 - 28 earmarked
  ledger.end_earmark(b);
  EXPECT_TRUE(ledger.free_now(c, false).fits(10));
}

TEST(Ledger, L2_4_LimitsPerModelAndInAll) {
  Options o;
  o.shapes_per_model = 1;
  o.shapes_total = 2;
  Ledger ledger(o);
  Worker a(spec_of(1)), b(spec_of(1));
  ledger.charge(a);
  EXPECT_FALSE(ledger.free_now(a, false).fits(1));
  EXPECT_TRUE(ledger.free_now(a, false).lane_fits(1));
  EXPECT_TRUE(ledger.free_now(b, false).fits(1));
  ledger.charge(b);
  EXPECT_FALSE(ledger.free_now(b, false).lane_fits(1));
}

}  // namespace
}  // namespace anelane::sched
