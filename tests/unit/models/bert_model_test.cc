#include "models/bert_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

class BertModelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_tiny_checkpoint(folder_.path()).ok());
    Result<std::shared_ptr<const Model>> model = open_model(folder_.path(), {});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = *model;
  }
  TempFolder folder_;
  std::shared_ptr<const Model> model_;
};

TEST_F(BertModelTest, TheSummaryTellsTheCheckpoint) {
  const ModelSummary& s = model_->summary();
  EXPECT_EQ(s.kind, ModelKind::kEmbedder);
  EXPECT_EQ(s.architecture, "BertModel");
  EXPECT_EQ(s.dim, 64u);
  EXPECT_EQ(s.width, 64u);
  EXPECT_EQ(s.ceiling, 256u);
  EXPECT_EQ(s.layers, 2u);
  EXPECT_EQ(s.ladder, (std::vector<uint32_t>{128, 256}));
  EXPECT_EQ(s.conversion, "bert-1");
  EXPECT_EQ(s.checkpoint_digest.size(), 64u);
  EXPECT_GT(s.host_bytes, 100'000u);
  EXPECT_NE(folder_.path().find(s.name), std::string::npos);
  EXPECT_FALSE(s.name.empty());
}

TEST_F(BertModelTest, L2_3_TokensAreCheckedWithTheirLimits) {
  EXPECT_TRUE(model_->check_tokens(std::vector<int32_t>{0, 3, 100}).ok());
  EXPECT_TRUE(model_->check_tokens(std::vector<int32_t>(256, 1)).ok());
  EXPECT_EQ(model_->check_tokens({}).code(), Code::kInvalidSequence);
  const Status longer = model_->check_tokens(std::vector<int32_t>(257, 1));
  EXPECT_EQ(longer.code(), Code::kSequenceTooLong);
  EXPECT_EQ(longer.detail().limit, 256u);
  const int32_t vocab = static_cast<int32_t>(model_->summary().vocab);
  for (const int32_t id : {-1, vocab, INT32_MAX, INT32_MIN}) {
    const Status bad = model_->check_tokens(std::vector<int32_t>{2, id});
    EXPECT_EQ(bad.code(), Code::kInvalidSequence);
    EXPECT_NE(bad.message().find("token 1 has id " + std::to_string(id)), std::string::npos) << bad.message();
  }
  EXPECT_TRUE(model_->check_tokens(std::vector<int32_t>{vocab - 1}).ok());
}

TEST_F(BertModelTest, EmbeddingsAreNormedColumnsAndPaddingIsMasked) {
  const std::vector<int32_t> ids = {2, 50, 50, 3};
  std::vector<Half> x(64 * 128, 0x7e00), mask(128, 0x7e00);
  ASSERT_TRUE(model_->embed_tokens(ids, 128, x.data(), mask.data()).ok());
  const TinyCheckpoint checkpoint;
  for (size_t t = 0; t < 128; ++t) {
    EXPECT_EQ(half_to_float(mask[t]), t < 4 ? 0 : -10000) << t;
    for (size_t c = 0; t >= 4 && c < 64; ++c) ASSERT_EQ(x[c * 128 + t], 0);
  }
  double difference = 0;  // the same word at two positions is two vectors
  for (size_t c = 0; c < 64; ++c)
    difference +=
        std::fabs(static_cast<double>(half_to_float(x[c * 128 + 1]) - half_to_float(x[c * 128 + 2])));
  EXPECT_GT(difference, 1);
}

// The padding token inside a sequence is a token like any other: the count decides.
TEST_F(BertModelTest, S002_TheMaskFollowsTheTokenCountAndNotThePaddingId) {
  const std::vector<int32_t> ids = {10, 11, 0, 12};
  std::vector<Half> x(64 * 128), mask(128, 0x7e00);
  ASSERT_TRUE(model_->embed_tokens(ids, 128, x.data(), mask.data()).ok());
  for (size_t t = 0; t < 128; ++t) EXPECT_EQ(half_to_float(mask[t]), t < 4 ? 0 : -10000) << t;
  bool seen = false;
  for (size_t c = 0; c < 64; ++c) seen |= x[c * 128 + 2] != 0;
  EXPECT_TRUE(seen) << "the third token is embedded though its id is the padding's";
}

TEST_F(BertModelTest, WrongSizesAreRefused) {
  std::vector<Half> x(64 * 128), mask(128);
  EXPECT_EQ(model_->embed_tokens(std::vector<int32_t>(129, 1), 128, x.data(), mask.data()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(model_->embed_tokens(std::vector<int32_t>(2, 1), 100, x.data(), mask.data()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(model_->embed_tokens(std::vector<int32_t>(2, 999), 128, x.data(), mask.data()).code(),
            Code::kInvalidSequence);
  std::vector<float> out(63);
  EXPECT_EQ(model_->finish(x.data(), 128, 1, out).code(), Code::kInvalidArgument);
  out.resize(64);
  EXPECT_EQ(model_->finish(x.data(), 128, 0, out).code(), Code::kInvalidArgument);
  EXPECT_EQ(model_->finish(x.data(), 128, 129, out).code(), Code::kInvalidArgument);
  EXPECT_TRUE(model_->finish(x.data(), 128, 128, out).ok());
}

TEST_F(BertModelTest, ALayerThatIsNotThereIsAnEmptyProgram) {
  EXPECT_TRUE(model_->layer_program(128, 2).mil.empty());
}

}  // namespace
}  // namespace anelane
