// Predictions and learning: L4.4, L4.5, L4.7.
#include "scheduler/cost_book.h"

#include <gtest/gtest.h>

namespace anelane::sched {
namespace {

WorkerSpec spec_of(Time seed0, Time seed1, bool reports = true) {
  WorkerSpec spec;
  spec.layers = 22;
  spec.ladder = {128, 256};
  spec.seed_compile.fill(kUnknown);
  spec.seed_load.fill(kUnknown);
  spec.seed_compile[0] = seed0;
  spec.seed_compile[1] = seed1;
  spec.reports_cache = reports;
  return spec;
}

TEST(CostBook, S224_MeasuredReplacesSeed) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, kUnknown));
  EXPECT_EQ(book.compile_cost(0, factor), 11'000'000);
  book.learn(0, 22'000'000, 0, 22, factor);
  EXPECT_EQ(book.compile_cost(0, factor), 22'000'000);
  EXPECT_TRUE(book.predicts_load(0));
}

TEST(CostBook, S226_FasterMachineScalesUnmeasuredShapes) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, 20'000'001));
  book.learn(0, 5'500'000, 0, 22, factor);
  EXPECT_EQ(book.compile_cost(1, factor), 10'000'001);  // 10,000,000.5 is rounded to the nearest
}

TEST(CostBook, L4_4_FactorIsBoundedBothWays) {
  MachineFactor factor;
  CostBook book(spec_of(1'000, 1'000));
  book.learn(0, 1'000'000, 0, 1, factor);
  EXPECT_EQ(book.compile_cost(1, factor), 8'000);
  book.learn(0, 1, 0, 1, factor);
  EXPECT_EQ(book.compile_cost(1, factor), 125);
}

TEST(CostBook, L4_4_AShapeCountsOnceInTheFactor) {
  MachineFactor factor;
  CostBook book(spec_of(1'000, 1'000));
  book.learn(0, 4'000, 0, 1, factor);
  book.learn(0, 2'000, 0, 1, factor);
  EXPECT_EQ(book.compile_cost(1, factor), 2'000);
}

TEST(CostBook, S232_LoadsAreLearnedSeparately) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, 11'000'000));
  book.report_cached(1);
  EXPECT_EQ(book.cost(0, factor), 22 * 20'000);
  book.learn(0, 700'000, 22, 0, factor);
  EXPECT_EQ(book.cost(0, factor), 700'000);
  EXPECT_EQ(book.compile_cost(1, factor), 11'000'000);
  EXPECT_EQ(factor.value(), 1);
}

TEST(CostBook, S235_AWorkerWithoutCountsIsLearnedAsCompilingAndStaysOutOfTheFactor) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, 11'000'000, false));
  book.report_cached(3);
  EXPECT_FALSE(book.predicts_load(0));
  book.learn(0, 95'000, 0, 0, factor);
  EXPECT_FALSE(book.predicts_load(0));
  EXPECT_EQ(book.cost(0, factor), 95'000);
  EXPECT_EQ(book.cost(1, factor), 11'000'000);
}

TEST(CostBook, S229_WhatMustNotBeLearnedStillTellsThatTheRungIsCached) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, kUnknown));
  book.learn(0, kUnknown, 0, 22, factor);
  EXPECT_TRUE(book.predicts_load(0));
  EXPECT_EQ(book.compile_cost(0, factor), 11'000'000);
}

TEST(CostBook, S262_AMixedAdmissionIsNeitherACompileNorALoad) {
  MachineFactor factor;
  CostBook book(spec_of(11'000'000, kUnknown));
  book.learn(0, 900'000, 21, 1, factor);
  EXPECT_EQ(book.compile_cost(0, factor), 11'000'000);
  EXPECT_EQ(book.load_cost(0), 22 * 20'000);
}

}  // namespace
}  // namespace anelane::sched
