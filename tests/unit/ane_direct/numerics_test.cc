// The published probes of the engine's arithmetic, each named by its rule.
#include <cmath>

#include "ane_direct/soft/lattice.h"
#include "ane_direct/soft/unary_table.h"
#include "soft_harness.h"

namespace anelane {
namespace {

using soft::LatticeSum;
using soft::unary_value;
using soft::UnaryFn;

Half lattice(const std::vector<float>& terms, bool ceiling = true) {
  LatticeSum sum(ceiling);
  for (const float term : terms) sum.add(term);
  return soft::lattice_store(sum.total());
}

std::vector<float> repeated(std::vector<float> pattern, size_t times, std::vector<float> head = {}) {
  for (size_t i = 0; i < times; ++i) head.insert(head.end(), pattern.begin(), pattern.end());
  return head;
}

TEST(Numerics, N4_TwoThousandFortyNineOnesRoundToEven) {
  EXPECT_EQ(lattice(repeated({1}, 2049)), 0x6800);
}

TEST(Numerics, N11_SixteenThousandOnesAreExact) {
  EXPECT_EQ(lattice(repeated({1}, 16000)), 0x73d0);
}

TEST(Numerics, N12_TheTileDecidesWhichTermsSurvive) {
  EXPECT_EQ(lattice(repeated({1}, 1024, {4096})), 0x6cff);  // 5116
  for (const float b : {1024.0f, 3000.0f, 4000.0f, 4090.0f}) {
    EXPECT_EQ(lattice(repeated({b, -b, 1}, 16)), 0x4c00) << b;
    EXPECT_EQ(lattice(repeated({b, 1, -b}, 16)), 0x4c00) << b;
  }
  for (const float b : {4096.0f, 8000.0f, 16000.0f, 30000.0f}) {
    EXPECT_EQ(lattice(repeated({b, -b, 1}, 16)), 0x4400) << b;
    EXPECT_EQ(lattice(repeated({b, 1, -b}, 16)), 0x4400) << b;
  }
  EXPECT_EQ(lattice(repeated({1}, 16, {8192})), float_to_half(8208));
}

TEST(Numerics, N13_N14_TheCeilingIsTwoToTheFifteenAlsoInside) {
  EXPECT_EQ(lattice({32752}), 0x77ff);
  EXPECT_EQ(lattice({32768}), 0x7c00);
  EXPECT_EQ(lattice({-32768}), 0xfc00);
  EXPECT_EQ(lattice({20000, 0, 0, 0, 20000, 0, 0, 0, -20000}), 0x7c00);
  EXPECT_EQ(lattice({32768}, false), 0x7800);
}

TEST(Numerics, N28_DenormalTotalsAreFlushed) {
  EXPECT_EQ(lattice({0x1p-16f, 0x1p-16f}), 0);
  EXPECT_EQ(lattice({0x1p-15f, 0x1p-15f}), 0x0400);
}

// The same probes through text, compiler and executor.
std::vector<float> reduce_by_ones(const std::vector<float>& v, const std::string& numerics) {
  const uint64_t k = v.size();
  return run_once(
      {{1, 1, 1, k}}, {v},
      [&](MilWriter& mil, const std::vector<MilValue>& in) {
        return mil.matmul(in[0], mil.weight({1, 1, k, 1}, std::vector<float>(k, 1.0f)));
      },
      numerics);
}

TEST(Numerics, N12_ProbesThroughTheWholeEngine) {
  EXPECT_EQ(reduce_by_ones(repeated({1}, 1024, {4096}), "lattice")[0], 5116);
  EXPECT_EQ(reduce_by_ones(repeated({4000, -4000, 1}, 16), "lattice")[0], 16);
  EXPECT_EQ(reduce_by_ones(repeated({8000, -8000, 1}, 16), "lattice")[0], 4);
  EXPECT_EQ(reduce_by_ones(repeated({1}, 2049), "lattice")[0], 2048);
  EXPECT_EQ(reduce_by_ones({20000, 0, 0, 0, 20000, 0, 0, 0, -20000}, "lattice")[0], HUGE_VALF);
}

TEST(Numerics, FastSumsInFp32AndChecksTheFinalSumOnly) {
  EXPECT_EQ(reduce_by_ones(repeated({1}, 1024, {4096}), "fast")[0], 5120);
  EXPECT_EQ(reduce_by_ones(repeated({1}, 16000), "fast")[0], 16000);
  EXPECT_EQ(reduce_by_ones({20000, 0, 0, 0, 20000, 0, 0, 0, -20000}, "fast")[0], 20000);
  EXPECT_EQ(reduce_by_ones({20000, 20000}, "fast")[0], HUGE_VALF);
}

TEST(Numerics, N15_ReductionsAndSingleTapsAreExemptFromTheCeiling) {
  for (const char* numerics : {"fast", "lattice"}) {
    const auto sum = run_once(
        {{1, 2, 1, 32}}, {std::vector<float>(64, 30000)},
        [](MilWriter& mil, const std::vector<MilValue>& in) { return mil.reduce_sum(in[0], {1}); }, numerics);
    EXPECT_EQ(sum[0], 60000) << numerics;
    const auto tap = run_once(
        {{1, 1, 1, 32}}, {std::vector<float>(32, 60000)},
        [](MilWriter& mil, const std::vector<MilValue>& in) {
          return mil.conv(in[0], mil.weight({1, 1, 1, 1}, std::vector<float>{1}));
        },
        numerics);
    EXPECT_EQ(tap[0], 60000 - 0) << numerics;  // 60000 is on the grid of fp16
    const auto taps = run_once(
        {{1, 2, 1, 32}}, {std::vector<float>(64, 30000)},
        [](MilWriter& mil, const std::vector<MilValue>& in) {
          return mil.conv(in[0], mil.weight({1, 2, 1, 1}, std::vector<float>{1, 1}));
        },
        numerics);
    EXPECT_EQ(taps[0], HUGE_VALF) << numerics;
  }
}

TEST(Numerics, N20_NanEntersAsInfinityAndNeverLeaves) {
  const float nan = std::nanf("");
  const auto sum =
      run_once({{1, 1, 1, 32}}, {std::vector<float>(32, nan)},
               [](MilWriter& mil, const std::vector<MilValue>& in) { return mil.add(in[0], 0.0f); });
  EXPECT_EQ(sum[0], HUGE_VALF);
  const auto difference =
      run_once({{1, 1, 1, 32}}, {std::vector<float>(32, nan)},
               [](MilWriter& mil, const std::vector<MilValue>& in) { return mil.sub(in[0], in[0]); });
  EXPECT_EQ(difference[0], 0);  // N23
}

TEST(Numerics, N21_N23_N24_N25_N26_SpecialValuesOfFunctions) {
  const Half nan = 0x7e00, inf = 0x7c00, one = 0x3c00, minus_one = 0xbc00, minus_zero = 0x8000;
  const auto value = [](UnaryFn fn, Half x) { return unary_value(fn, 0, 0, x); };
  EXPECT_EQ(value(UnaryFn::kRelu, nan), inf);
  EXPECT_EQ(value(UnaryFn::kSigmoid, nan), one);
  EXPECT_EQ(value(UnaryFn::kTanh, nan), one);
  EXPECT_EQ(value(UnaryFn::kErf, nan), one);
  EXPECT_EQ(value(UnaryFn::kExp, nan), inf);
  EXPECT_EQ(value(UnaryFn::kSqrt, minus_one), 0);
  EXPECT_EQ(value(UnaryFn::kRsqrt, minus_one), 0);
  EXPECT_EQ(value(UnaryFn::kLog, minus_one), 0);
  EXPECT_EQ(value(UnaryFn::kInverse, minus_zero), inf);
  EXPECT_EQ(value(UnaryFn::kRsqrt, minus_zero), inf);
  EXPECT_EQ(value(UnaryFn::kSqrt, minus_zero), 0);
  EXPECT_EQ(value(UnaryFn::kSoftplus, inf), 0);
  EXPECT_EQ(value(UnaryFn::kSoftsign, inf), 0);
  EXPECT_EQ(value(UnaryFn::kLog, 0), 0xf98c);
  EXPECT_EQ(value(UnaryFn::kLog, minus_zero), 0xf98c);
}

TEST(Numerics, N17_N37_FirstOverflows) {
  EXPECT_EQ(unary_value(UnaryFn::kSquare, 0, 0, 0x5c00), 0x7c00);
  EXPECT_EQ(unary_value(UnaryFn::kSquare, 0, 0, 0x5bff), 0x7bfe);
  EXPECT_EQ(unary_value(UnaryFn::kExp, 0, 0, 0x498c), 0x7c00);
  EXPECT_NE(unary_value(UnaryFn::kExp, 0, 0, 0x498b), 0x7c00);
}

TEST(Numerics, N27_ElementwiseKeepsDenormals) {
  const auto same = run_once(
      {{1, 1, 1, 32}}, {std::vector<float>(32, 0x1p-24f)},
      [](MilWriter& mil, const std::vector<MilValue>& in) { return mil.mul(mil.add(in[0], 0.0f), 1.0f); });
  EXPECT_EQ(same[0], 0x1p-24f);
}

TEST(Numerics, N38_SoftmaxTakesTheMaximumAwayFirst) {
  const Build build = [](MilWriter& mil, const std::vector<MilValue>& in) { return mil.softmax(in[0], -1); };
  EXPECT_EQ(run_once({{1, 1, 1, 4}}, {{1000, 1, 2, 3}}, build), (std::vector<float>{1, 0, 0, 0}));
  EXPECT_EQ(run_once({{1, 1, 1, 4}}, {{5, 5, 5, 5}}, build), (std::vector<float>(4, 0.25f)));
  const float nan = std::nanf("");
  EXPECT_EQ(run_once({{1, 1, 1, 4}}, {{1, nan, 2, 3}}, build), (std::vector<float>{0, 1, 0, 0}));
}

TEST(Numerics, N46_WidthSlicesSaturateInTheLatticeProfileOnly) {
  const std::vector<float> x = {1, 60000, 4094, 4096, -4100, 7};
  const Build inside = [](MilWriter& mil, const std::vector<MilValue>& in) {
    return mil.slice_by_size(in[0], {0, 0, 0, 1}, {1, 1, 1, 5});
  };
  const Build from_zero = [](MilWriter& mil, const std::vector<MilValue>& in) {
    return mil.slice_by_size(in[0], {0, 0, 0, 0}, {1, 1, 1, 5});
  };
  EXPECT_EQ(run_once({{1, 1, 1, 6}}, {x}, inside, "lattice"),
            (std::vector<float>{HUGE_VALF, 4094, HUGE_VALF, -HUGE_VALF, 7}));
  EXPECT_EQ(run_once({{1, 1, 1, 6}}, {x}, inside, "fast"), (std::vector<float>{60000, 4094, 4096, -4100, 7}));
  EXPECT_EQ(run_once({{1, 1, 1, 6}}, {x}, from_zero, "lattice"),
            (std::vector<float>{1, 60000, 4094, 4096, -4100}));
}

}  // namespace
}  // namespace anelane
