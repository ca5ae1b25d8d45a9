// Every level of kernels that this processor can run, against base/fp16.h, double precision and each other.
#include "ane_direct/soft/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/fp16.h"

namespace anelane::soft {
namespace {

std::vector<const Kernels*> levels() {
  size_t count = 0;
  const Kernels* const* all = usable_kernels(&count);
  return {all, all + count};
}

std::vector<float> random_floats(uint32_t seed, size_t n, float scale = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& v : values)
    v = half_to_float(float_to_half((static_cast<float>(random() % 4001) / 2000.0f - 1.0f) * scale));
  return values;
}

class KernelLevels : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Usable, KernelLevels, ::testing::ValuesIn(levels()),
                         [](const auto& level) { return std::string(level.param->name); });

TEST(Kernels, BaselineIsAlwaysThere) {
  EXPECT_STREQ(levels().back()->name, "baseline");
  EXPECT_EQ(&best_kernels(), levels().front());
}

TEST_P(KernelLevels, AllHalvesBecomeTheSameFloats) {
  std::vector<uint16_t> in(65536);
  for (uint32_t i = 0; i < 65536; ++i) in[i] = static_cast<uint16_t>(i);
  std::vector<float> out(65536);
  GetParam()->from_half(in.data(), out.data(), in.size());
  for (uint32_t i = 0; i < 65536; ++i) {
    const float want = half_to_float(static_cast<Half>(i));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;  // a signalling NaN may come out quiet
    } else {
      ASSERT_EQ(std::memcmp(&out[i], &want, 4), 0) << i;
    }
  }
}

TEST_P(KernelLevels, FloatsBecomeTheSameHalvesTiesIncluded) {
  std::vector<float> in;
  for (uint32_t i = 0; i < 65536; ++i) {  // every half, its neighbours and every midpoint
    const float value = half_to_float(static_cast<Half>(i));
    if (!std::isfinite(value)) continue;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (const uint32_t delta : {0u, 1u, ~0u, 0xfffu, 0x1000u, 0x1001u})
      in.push_back(std::bit_cast<float>(bits + delta));
    in.push_back(value + std::ldexp(1.0f, -25));
    in.push_back(value - std::ldexp(1.0f, -25));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) in.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (const float special : {65504.0f, 65519.9f, 65520.0f, 1e30f, HUGE_VALF, -HUGE_VALF, 0.0f, -0.0f})
    in.push_back(special);
  std::vector<uint16_t> out(in.size());
  GetParam()->to_half(in.data(), out.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(out[i], float_to_half(in[i])) << in[i] << " " << std::bit_cast<uint32_t>(in[i]);
}

TEST_P(KernelLevels, ShortRunsDoNotTouchWhatIsBehind) {
  for (size_t n = 0; n < 40; ++n) {
    std::vector<uint16_t> in(n, 0x3c00), out(n + 1, 0xabcd);
    std::vector<float> wide(n + 1, 7.0f);
    GetParam()->from_half(in.data(), wide.data(), n);
    GetParam()->to_half(wide.data(), out.data(), n);
    EXPECT_EQ(wide[n], 7.0f);
    EXPECT_EQ(out[n], 0xabcd);
    GetParam()->add(in.data(), in.data(), out.data(), n, false, n != 0);
    EXPECT_EQ(out[n], 0xabcd);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], 0x4000);
  }
}

TEST_P(KernelLevels, ArithmeticRoundsTheExactResultOnce) {
  std::mt19937 random(3);
  std::vector<uint16_t> x(20011), y(20011), out(20011);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<uint16_t>(random());
    y[i] = static_cast<uint16_t>(random());
    if ((x[i] & 0x7fff) > 0x7c00) x[i] = 0x7c00;  // no NaN inside the engine
    if ((y[i] & 0x7fff) > 0x7c00) y[i] = 0x8000;
  }
  const Kernels& k = *GetParam();
  const auto check = [&](auto kernel, auto exact, const char* name) {
    kernel(x.data(), y.data(), out.data(), x.size(), false, false);
    for (size_t i = 0; i < x.size(); ++i) {
      const float want = exact(half_to_float(x[i]), half_to_float(y[i]));
      ASSERT_EQ(out[i], std::isnan(want) ? 0 : float_to_half(want)) << name << " " << x[i] << " " << y[i];
    }
  };
  check(
      k.add, [](float a, float b) { return a + b; }, "add");
  check(
      k.sub, [](float a, float b) { return a - b; }, "sub");
  check(
      k.mul, [](float a, float b) { return a * b; }, "mul");
  check(
      k.div, [](float a, float b) { return a / (b + 0.0f); }, "div");
  check(
      k.max, [](float a, float b) { return a > b ? a : b; }, "max");
  check(
      k.min, [](float a, float b) { return a < b ? a : b; }, "min");
}

std::vector<float> product(const Kernels& kernels, const std::vector<float>& a, const std::vector<float>& b,
                           size_t k, size_t n, size_t block) {
  const size_t width = kernels.panel_columns;
  std::vector<float> c(6 * width, 99.0f);
  for (size_t start = 0; start < k; start += block) {
    const size_t depth = std::min(block, k - start);
    std::vector<float> panel(depth * width, 0.0f);
    for (size_t i = 0; i < depth; ++i)
      for (size_t j = 0; j < n; ++j) panel[i * width + j] = b[(start + i) * n + j];
    kernels.gemm(a.data() + start * 6, panel.data(), c.data(), width, depth, n, start == 0);
  }
  std::vector<float> out;
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < n; ++j) out.push_back(c[i * width + j]);
  return out;
}

TEST_P(KernelLevels, ProductsAgreeWithDoublePrecisionForEveryWidth) {
  const Kernels& kernels = *GetParam();
  const size_t k = 201;
  for (size_t n = 1; n <= kernels.panel_columns; ++n) {
    const auto a = random_floats(1, 6 * k), b = random_floats(2, k * n);
    const auto got = product(kernels, a, b, k, n, k);
    for (size_t i = 0; i < 6; ++i) {
      for (size_t j = 0; j < n; ++j) {
        double want = 0;
        for (size_t s = 0; s < k; ++s)
          want += static_cast<double>(a[s * 6 + i]) * static_cast<double>(b[s * n + j]);
        ASSERT_NEAR(static_cast<double>(got[i * n + j]), want, 2e-5);
      }
    }
  }
}

TEST_P(KernelLevels, CuttingTheSumChangesNoBit) {
  const Kernels& kernels = *GetParam();
  const size_t k = 1000, n = kernels.panel_columns;
  const auto a = random_floats(1, 6 * k), b = random_floats(2, k * n);
  const auto whole = product(kernels, a, b, k, n, k);
  for (const size_t block : {1u, 7u, 384u, 999u}) EXPECT_EQ(product(kernels, a, b, k, n, block), whole);
  for (size_t column = 1; column < n; column += 5) {  // nor does the place in the panel
    std::vector<float> shifted(k);
    for (size_t s = 0; s < k; ++s) shifted[s] = b[s * n + column];
    const auto single = product(kernels, a, shifted, k, 1, k);
    for (size_t i = 0; i < 6; ++i) ASSERT_EQ(single[i], whole[i * n + column]);
  }
}

TEST(Kernels, LevelsWithFusedMultiplyAddAgreeToTheBit) {
  const auto all = levels();
  std::vector<const Kernels*> fused;
  for (const Kernels* level : all)
    if (std::string(level->name) != "baseline") fused.push_back(level);
  if (fused.size() < 2) GTEST_SKIP() << "this processor has less than two such levels";
  const size_t k = 700, n = 16;
  const auto a = random_floats(1, 6 * k), b = random_floats(2, k * n);
  EXPECT_EQ(product(*fused[0], a, b, k, n, k), product(*fused[1], a, b, k, n, k));
  for (const auto& run : {&Kernels::softmax}) {
    auto x = random_floats(4, 50 * kTileLanes, 8), y = x;
    (fused[0]->*run)(x.data(), 50);
    (fused[1]->*run)(y.data(), 50);
    EXPECT_EQ(x, y);
  }
  auto x = random_floats(5, 50 * kTileLanes, 3), y = x;
  fused[0]->layer_norm(x.data(), 50, nullptr, nullptr, 1e-5f);
  fused[1]->layer_norm(y.data(), 50, nullptr, nullptr, 1e-5f);
  EXPECT_EQ(x, y);
}

TEST_P(KernelLevels, N13_StoreMakesTwoToTheFifteenInfinite) {
  const std::vector<float> acc = {32752, 32767.9f, 32768, -32767, -32768, 1e9f, 5};
  std::vector<uint16_t> out(acc.size());
  GemmStore how;
  how.ceiling = 32768;
  GetParam()->gemm_store(acc.data(), out.data(), acc.size(), how, 0);
  EXPECT_EQ(out[0], 0x77ff);
  EXPECT_EQ(out[2], 0x7c00);
  EXPECT_EQ(out[4], 0xfc00);
  EXPECT_EQ(out[5], 0x7c00);
  EXPECT_EQ(out[6], 0x4500);
  how.ceiling = 0;
  const std::vector<float> bias = {0, 0, 0, 0, 0, 0, 2};
  how.column_bias = bias.data();
  GetParam()->gemm_store(acc.data(), out.data(), acc.size(), how, 0);
  EXPECT_EQ(out[2], 0x7800);
  EXPECT_EQ(out[6], 0x4700);
}

TEST_P(KernelLevels, SoftmaxAgreesWithDoublePrecision) {
  const size_t rows = 77;
  auto tile = random_floats(9, rows * kTileLanes, 20);
  const auto x = tile;
  GetParam()->softmax(tile.data(), rows);
  for (size_t lane = 0; lane < kTileLanes; ++lane) {
    double top = -1e300, total = 0;
    for (size_t r = 0; r < rows; ++r) top = std::max(top, static_cast<double>(x[r * kTileLanes + lane]));
    for (size_t r = 0; r < rows; ++r) total += std::exp(static_cast<double>(x[r * kTileLanes + lane]) - top);
    for (size_t r = 0; r < rows; ++r) {
      const double want = std::exp(static_cast<double>(x[r * kTileLanes + lane]) - top) / total;
      ASSERT_NEAR(static_cast<double>(tile[r * kTileLanes + lane]), want, 1e-6 * want + 1e-30);
    }
  }
}

TEST_P(KernelLevels, TransposeTurnsABlock) {
  std::vector<uint16_t> in(8 * 11), out(8 * 13, 0xffff);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
  GetParam()->transpose(in.data(), 11, out.data(), 13);
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j) ASSERT_EQ(out[i * 13 + j], in[j * 11 + i]);
  EXPECT_EQ(out[8], 0xffff);
}

}  // namespace
}  // namespace anelane::soft
