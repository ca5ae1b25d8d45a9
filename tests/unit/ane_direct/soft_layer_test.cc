// A whole transformer layer through writer, compiler, vault and executor, against double precision.
#include <cmath>
#include <cstring>

#include "soft_harness.h"

namespace anelane {
namespace {

struct Outcome {
  double cosine = 0, worst = 0;
};

Outcome compare(const std::vector<float>& got, const std::vector<double>& want) {
  double dot = 0, a = 0, b = 0;
  Outcome outcome;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = static_cast<double>(got[i]);
    dot += g * want[i];
    a += g * g;
    b += want[i] * want[i];
    outcome.worst = std::max(outcome.worst, std::fabs(g - want[i]));
  }
  outcome.cosine = dot / std::sqrt(a * b);
  return outcome;
}

std::vector<float> padding_mask(size_t tokens, size_t used) {
  std::vector<float> mask(tokens, 0.0f);
  for (size_t i = used; i < tokens; ++i) mask[i] = -10000.0f;
  return mask;
}

class SoftLayer : public ::testing::Test {
 protected:
  std::unique_ptr<LoadedProgram> load(const LayerSize& size, uint32_t threads,
                                      const std::string& numerics = "") {
    SoftEngineOptions options = test_options(folder_);
    options.threads = threads;
    options.numerics = numerics;
    auto engine = make_soft_engine(options);
    EXPECT_TRUE(engine.ok());
    const auto program = write_layer(size, random_layer(size, 7));
    EXPECT_TRUE(program.ok()) << program.status().message();
    return load_fresh(**engine, *program);
  }
  TempFolder folder_;
};

TEST_F(SoftLayer, MiniLmLayerAgreesWithDoublePrecision) {
  const LayerSize size;
  const auto program = load(size, 2);
  ASSERT_NE(program, nullptr);
  const auto x = random_values(3, size.channels * size.tokens, 1.5f);
  const auto mask = padding_mask(size.tokens, 100);
  const auto want = reference_layer(size, random_layer(size, 7), x, mask);
  const Outcome outcome = compare(run_dense(*program, {x, mask})[0], want);
  std::printf("cosine %.8f, largest difference %.5f\n", outcome.cosine, outcome.worst);
  EXPECT_GT(outcome.cosine, 0.99999);
  EXPECT_LT(outcome.worst, 0.03);
}

TEST_F(SoftLayer, OddSizesAndSeveralTilesAgreeToo) {
  const LayerSize size{60, 100, 3, 160};
  const auto program = load(size, 2);
  ASSERT_NE(program, nullptr);
  const auto x = random_values(4, size.channels * size.tokens, 1.5f);
  const auto mask = padding_mask(size.tokens, 131);
  const auto want = reference_layer(size, random_layer(size, 7), x, mask);
  const Outcome outcome = compare(run_dense(*program, {x, mask})[0], want);
  EXPECT_GT(outcome.cosine, 0.99999);
  EXPECT_LT(outcome.worst, 0.03);
}

TEST_F(SoftLayer, LatticeProfileStaysCloseToo) {
  const LayerSize size{48, 96, 2, 32};
  const auto program = load(size, 2, "lattice");
  ASSERT_NE(program, nullptr);
  const auto x = random_values(4, size.channels * size.tokens, 1.5f);
  const auto mask = padding_mask(size.tokens, 20);
  const auto want = reference_layer(size, random_layer(size, 7), x, mask);
  EXPECT_GT(compare(run_dense(*program, {x, mask})[0], want).cosine, 0.9999);
}

TEST_F(SoftLayer, ThreadsAndRepetitionsChangeNoBit) {
  const LayerSize size{96, 384, 4, 256};
  const auto bits = [](const std::vector<float>& values) {
    std::vector<Half> out;
    for (const float v : values) out.push_back(float_to_half(v));
    return out;
  };
  const std::vector<std::vector<Half>> in = {bits(random_values(5, 96 * 256, 1.5f)),
                                             bits(padding_mask(256, 200))};
  const auto one = load(size, 1);
  const auto first = run_bits(*one, in);
  for (const uint32_t threads : {2u, 3u, 7u}) {
    const auto many = load(size, threads);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(run_bits(*many, in), first) << threads << " threads";
  }
}

}  // namespace
}  // namespace anelane
