#include "models/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

class PoolingTest : public testing::Test {
 protected:
  Result<Pooling> read(const TinyCheckpoint& checkpoint) {
    EXPECT_TRUE(checkpoint.write(folder_.path()).ok());
    return read_pooling(folder_.path(), 64);
  }
  void expect_error(const TinyCheckpoint& checkpoint, Code code, std::initializer_list<const char*> parts) {
    const Status status = read(checkpoint).status();
    EXPECT_EQ(status.code(), code) << status.message();
    for (const char* part : parts)
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  TempFolder folder_;
};

TEST_F(PoolingTest, ReadsModeAndNormalisation) {
  for (const auto& [name, mode] : {std::pair{"mean", PoolingMode::kMean}, std::pair{"cls", PoolingMode::kCls},
                                   std::pair{"last", PoolingMode::kLast}}) {
    for (const bool normalize : {false, true}) {
      Result<Pooling> pooling = read(TinyCheckpoint({.pooling = name, .normalize = normalize}));
      ASSERT_TRUE(pooling.ok()) << pooling.status().message();
      EXPECT_EQ(pooling->mode, mode);
      EXPECT_EQ(pooling->normalize, normalize);
    }
  }
}

TEST_F(PoolingTest, WithoutModulesItIsTheMean) {
  Result<Pooling> pooling = read(TinyCheckpoint({.pooling = ""}));
  ASSERT_TRUE(pooling.ok());
  EXPECT_EQ(pooling->mode, PoolingMode::kMean);
  EXPECT_FALSE(pooling->normalize);
}

TEST_F(PoolingTest, ProblemsAreNamed) {
  TinyCheckpoint c;
  c.pooling_config.set("pooling_mode_mean_tokens", false);
  expect_error(c, Code::kModelInvalid, {"1_Pooling/config.json", "found none"});
  c.pooling_config.set("pooling_mode_max_tokens", true);
  expect_error(c, Code::kModelUnsupported, {"1_Pooling/config.json", "pooling_mode_max_tokens"});
  c = TinyCheckpoint();
  c.pooling_config.set("pooling_mode_cls_token", true);
  expect_error(c, Code::kModelUnsupported, {"pooling_mode_mean_tokens with pooling_mode_cls_token"});
  c = TinyCheckpoint();
  c.pooling_config.set("pooling_mode_mean_tokens", "yes");
  expect_error(c, Code::kModelInvalid, {"pooling_mode_mean_tokens", "\"yes\""});
  c = TinyCheckpoint();
  c.pooling_config.set("word_embedding_dimension", 128);
  expect_error(c, Code::kModelInvalid, {"word_embedding_dimension", "64", "found 128"});
}

TEST_F(PoolingTest, OtherModulesAreNotSkipped) {
  TinyCheckpoint c;
  c.modules.push(Json::object().set("path", "3_Dense").set("type", "sentence_transformers.models.Dense"));
  expect_error(c, Code::kModelUnsupported, {"module 3", "Dense"});
  c.modules = Json::array();
  expect_error(c, Code::kModelInvalid, {"modules.json", "Pooling"});
  c.modules = Json::array().push(7);
  expect_error(c, Code::kModelInvalid, {"module 0"});
  c.modules = Json::object();
  expect_error(c, Code::kModelInvalid, {"modules.json", "array"});
}

TEST_F(PoolingTest, AModulePathStaysInTheFolder) {
  for (const char* path : {"../elsewhere", "/etc", "1_Pooling/../../x"}) {
    TinyCheckpoint c;
    c.modules = Json::array().push(Json::object().set("path", path).set("type", "x.Pooling"));
    expect_error(c, Code::kModelInvalid, {"path", "within the checkpoint"});
  }
}

// Two channels of four columns, three of them tokens.
std::vector<float> pool(Pooling pooling) {
  const float values[] = {1, 2, 6, 1000, 4, 4, 4, 1000};
  std::vector<Half> hidden;
  for (const float v : values) hidden.push_back(float_to_half(v));
  std::vector<float> out(2);
  EXPECT_TRUE(pooling.apply(hidden.data(), 4, 3, out).ok());
  return out;
}

TEST(PoolingApply, TakesTheTokensAndNotThePadding) {
  EXPECT_EQ(pool({PoolingMode::kMean, false}), (std::vector<float>{3, 4}));
  EXPECT_EQ(pool({PoolingMode::kCls, false}), (std::vector<float>{1, 4}));
  EXPECT_EQ(pool({PoolingMode::kLast, false}), (std::vector<float>{6, 4}));
  EXPECT_EQ(pool({PoolingMode::kMean, true}), (std::vector<float>{0.6f, 0.8f}));
}

TEST(PoolingApply, AZeroVectorStaysZero) {
  const std::vector<Half> hidden(8, Half{0});
  std::vector<float> out(2, 1);
  EXPECT_TRUE((Pooling{PoolingMode::kMean, true}).apply(hidden.data(), 4, 3, out).ok());
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
}

TEST(PoolingApply, L5_2_ValuesThatAreNotFiniteAreAnError) {
  std::vector<Half> hidden(8, Half{0});
  hidden[5] = 0x7c00;
  std::vector<float> out(2);
  const Status status = (Pooling{PoolingMode::kMean, true}).apply(hidden.data(), 4, 3, out);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("channel 1"), std::string::npos);
}

}  // namespace
}  // namespace anelane
