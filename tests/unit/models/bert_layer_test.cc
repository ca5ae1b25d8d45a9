#include "models/bert_layer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ane_direct/soft/soft_engine.h"
#include "bert_reference.h"
#include "model_runner.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

class BertLayerTest : public testing::Test {
 protected:
  void SetUp() override {
    SoftEngineOptions options;
    options.cache_dir = folder_.file("vault");
    options.temp_dir = folder_.path();
    options.signing_identifier = "bert-layer-test";
    options.threads = 1;
    Result<std::unique_ptr<Engine>> engine = make_soft_engine(options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = *std::move(engine);
  }

  std::shared_ptr<const Model> open(const TinyCheckpoint& checkpoint) {
    EXPECT_TRUE(checkpoint.write(folder_.file("model")).ok());
    Result<std::shared_ptr<const Model>> model = open_model(folder_.file("model"), {});
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? *model : nullptr;
  }

  // The smallest cosine to the double reference over sequences of several lengths.
  double worst_cosine(const TinyCheckpoint& checkpoint, const TinyCheckpointOptions& options) {
    const std::shared_ptr<const Model> model = open(checkpoint);
    if (model == nullptr) return 0;
    ModelRunner runner(*engine_, *model);
    double worst = 1;
    for (const size_t length : {1, 2, 31, 128, 129, 256}) {
      std::vector<int32_t> ids;
      for (size_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>((7 + 13 * i * i) % 101));
      Result<std::vector<float>> vector = runner.embed(ids);
      EXPECT_TRUE(vector.ok()) << vector.status().message();
      if (!vector.ok()) return 0;
      worst = std::min(worst, cosine(*vector, reference_vector(checkpoint, options.prefix, ids,
                                                               options.pooling, options.normalize)));
    }
    return worst;
  }

  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(BertLayerTest, AgreesWithDoubleArithmetic) {
  const TinyCheckpointOptions options;
  EXPECT_GT(worst_cosine(TinyCheckpoint(options), options), 0.99999);
}

// The approximations of GELU lie too close together for a cosine to tell them apart.
TEST_F(BertLayerTest, TheActivationIsTheConfiguredOne) {
  for (const auto& [act, in_text] :
       {std::pair{"gelu", "\"EXACT\""}, std::pair{"gelu_new", "\"TANH_APPROXIMATION\""},
        std::pair{"gelu_pytorch_tanh", "\"TANH_APPROXIMATION\""}, std::pair{"relu", "= relu("},
        std::pair{"swish", "= silu("}}) {
    TinyCheckpoint checkpoint;
    checkpoint.config.set("hidden_act", act);
    const std::shared_ptr<const Model> model = open(checkpoint);
    ASSERT_NE(model, nullptr);
    EXPECT_NE(model->layer_program(128, 0).mil.find(in_text), std::string::npos) << act;
  }
}

TEST_F(BertLayerTest, EveryVariantAgreesWithDoubleArithmetic) {
  for (const char* act : {"gelu_new", "relu", "silu"}) {
    const TinyCheckpointOptions options{.pooling = "cls", .normalize = false, .seed = 3};
    TinyCheckpoint checkpoint(options);
    checkpoint.config.set("hidden_act", act);
    EXPECT_GT(worst_cosine(checkpoint, options), 0.9999) << act;
  }
  for (const char* dtype : {"F16", "BF16"}) {
    const TinyCheckpointOptions options{.prefix = "bert.", .dtype = dtype, .pooling = "last", .seed = 4};
    EXPECT_GT(worst_cosine(TinyCheckpoint(options), options), 0.9999) << dtype;
  }
  const TinyCheckpointOptions wide{.layers = 1, .width = 96, .heads = 3, .ffn = 64, .ceiling = 256};
  EXPECT_GT(worst_cosine(TinyCheckpoint(wide), wide), 0.9999);
}

// numerics N17: squares of activations above 256 overflow fp16. Weights of this norm make such activations.
TEST_F(BertLayerTest, LargeActivationsDoNotOverflowTheNorm) {
  const TinyCheckpointOptions options;
  TinyCheckpoint checkpoint(options);
  TinyTensor* gamma = checkpoint.find("encoder.layer.0.attention.output.LayerNorm.weight");
  for (size_t i = 0; i < 64; ++i) {  // 400.0f
    gamma->bytes[4 * i + 0] = 0x00;
    gamma->bytes[4 * i + 1] = 0x00;
    gamma->bytes[4 * i + 2] = 0xc8;
    gamma->bytes[4 * i + 3] = 0x43;
  }
  EXPECT_GT(worst_cosine(checkpoint, options), 0.9999);
}

// A large epsilon must be felt, so that it cannot have been lost in fp16.
TEST_F(BertLayerTest, TheEpsilonCounts) {
  const TinyCheckpointOptions options;
  TinyCheckpoint checkpoint(options);
  checkpoint.config.set("layer_norm_eps", 1e-2);
  for (const char* name :
       {"encoder.layer.0.output.LayerNorm.weight", "encoder.layer.1.attention.output.LayerNorm.weight"})
    for (size_t i = 0; i < 64; ++i) {  // about 0.03: the variance behind is about the epsilon
      checkpoint.find(name)->bytes[4 * i + 2] = 0xf5;
      checkpoint.find(name)->bytes[4 * i + 3] = 0x3c;
    }
  EXPECT_GT(worst_cosine(checkpoint, options), 0.9999);
}

TEST_F(BertLayerTest, L8_1_TheSameLayerGivesTheSameBytes) {
  TempFolder other;
  const TinyCheckpoint checkpoint;
  const std::shared_ptr<const Model> a = open(checkpoint);
  ASSERT_TRUE(checkpoint.write(other.path()).ok());
  Result<std::shared_ptr<const Model>> b = open_model(other.path(), {});
  ASSERT_TRUE(a != nullptr && b.ok());
  for (uint32_t layer = 0; layer < 2; ++layer) {
    for (const uint32_t rung : {128u, 256u}) {
      const Program first = a->layer_program(rung, layer), second = (*b)->layer_program(rung, layer);
      ASSERT_FALSE(first.mil.empty());
      EXPECT_EQ(first.mil, second.mil);
      EXPECT_EQ(first.weights, second.weights);
      EXPECT_EQ(engine_->identify(first), engine_->identify(second));
    }
  }
  EXPECT_NE(a->layer_program(128, 0).weights, a->layer_program(128, 1).weights);
  EXPECT_NE(a->layer_program(128, 0).mil, a->layer_program(256, 0).mil);
  EXPECT_EQ(a->layer_program(128, 0).weights, a->layer_program(256, 0).weights);
}

TEST_F(BertLayerTest, BothDialectsGiveTheSameWeightsAndBits) {
  ASSERT_TRUE(TinyCheckpoint().write(folder_.file("model")).ok());
  Result<std::shared_ptr<const Model>> modern = open_model(folder_.file("model"), {});
  Result<std::shared_ptr<const Model>> old =
      open_model(folder_.file("model"), {.dialect = MilDialect::kIos16});
  ASSERT_TRUE(modern.ok() && old.ok());
  const Program a = (*modern)->layer_program(128, 0), b = (*old)->layer_program(128, 0);
  EXPECT_TRUE(a.mil.starts_with("program(1.3)"));
  EXPECT_TRUE(b.mil.starts_with("program(1.0)"));
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_NE(engine_->identify(a), engine_->identify(b));
  for (const size_t length : {1, 100, 129, 256}) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < length; ++i) ids.push_back(static_cast<int32_t>((5 + 11 * i) % 101));
    Result<std::vector<float>> x = ModelRunner(*engine_, **modern).embed(ids);
    Result<std::vector<float>> y = ModelRunner(*engine_, **old).embed(ids);
    ASSERT_TRUE(x.ok() && y.ok());
    EXPECT_EQ(*x, *y) << length;
  }
}

TEST_F(BertLayerTest, PaddingDoesNotChangeTheVector) {
  const std::shared_ptr<const Model> model = open(TinyCheckpoint());
  ASSERT_NE(model, nullptr);
  Result<std::shared_ptr<const Model>> wide = open_model(folder_.file("model"), {.rungs = {256}});
  ASSERT_TRUE(wide.ok());
  const std::vector<int32_t> ids = {2, 40, 41, 42, 3};
  Result<std::vector<float>> a = ModelRunner(*engine_, *model).embed(ids);
  Result<std::vector<float>> b = ModelRunner(*engine_, **wide).embed(ids);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_GT(cosine(*a, *b), 0.999999);
}

}  // namespace
}  // namespace anelane
