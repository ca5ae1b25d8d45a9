#include "models/hf_config.h"

#include <gtest/gtest.h>

#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

Result<BertConfig> parse(Json json) {
  return parse_bert_config(JsonFields("config.json", std::move(json)));
}
Json base() {
  return TinyCheckpoint().config;
}

Json without(std::string_view field) {
  const Json all = base();
  Json out = Json::object();
  for (const auto& [key, value] : all.as_object())
    if (key != field) out.set(key, value);
  return out;
}

void expect_error(Json json, Code code, std::initializer_list<const char*> parts) {
  const Status status = parse(std::move(json)).status();
  EXPECT_EQ(status.code(), code) << status.message();
  for (const char* part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(HfConfig, ReadsEveryField) {
  Result<BertConfig> config = parse(base());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->architecture, "BertModel");
  EXPECT_EQ(config->width, 64u);
  EXPECT_EQ(config->heads, 2u);
  EXPECT_EQ(config->head_width(), 32u);
  EXPECT_EQ(config->layers, 2u);
  EXPECT_EQ(config->ffn, 128u);
  EXPECT_EQ(config->ceiling(), 256u);
  EXPECT_EQ(config->activation, Activation::kGelu);
  EXPECT_FLOAT_EQ(config->norm_eps, 1e-12f);
}

TEST(HfConfig, TheCeilingIsWholeRows) {
  Result<BertConfig> config = parse(base().set("max_position_embeddings", 514));
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->ceiling(), 512u);
}

TEST(HfConfig, MissingFieldsAreNamed) {
  for (const char* field :
       {"architectures", "hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size",
        "max_position_embeddings", "vocab_size", "type_vocab_size", "layer_norm_eps", "hidden_act"})
    expect_error(without(field), Code::kModelInvalid, {"config.json", field, "missing"});
}

TEST(HfConfig, MistypedAndOutOfRangeFieldsAreNamed) {
  expect_error(base().set("hidden_size", "wide"), Code::kModelInvalid, {"hidden_size", "\"wide\""});
  expect_error(base().set("hidden_size", 64.5), Code::kModelInvalid, {"hidden_size", "64.5"});
  expect_error(base().set("hidden_size", 0), Code::kModelInvalid, {"hidden_size", "found 0"});
  expect_error(base().set("hidden_size", 70), Code::kModelInvalid, {"hidden_size", "multiple of 32"});
  expect_error(base().set("hidden_size", 1 << 30), Code::kModelInvalid, {"hidden_size"});
  expect_error(base().set("num_attention_heads", 3), Code::kModelInvalid, {"num_attention_heads", "divisor"});
  expect_error(base().set("num_hidden_layers", 0), Code::kModelInvalid, {"num_hidden_layers"});
  expect_error(base().set("num_hidden_layers", 513), Code::kModelInvalid, {"num_hidden_layers", "512"});
  expect_error(base().set("max_position_embeddings", 16), Code::kModelInvalid,
               {"max_position_embeddings", "32"});
  expect_error(base().set("layer_norm_eps", -1.0), Code::kModelInvalid, {"layer_norm_eps"});
  expect_error(base().set("layer_norm_eps", "small"), Code::kModelInvalid, {"layer_norm_eps"});
  expect_error(base().set("architectures", "BertModel"), Code::kModelInvalid, {"architectures"});
  expect_error(base().set("architectures", Json::array()), Code::kModelInvalid, {"architectures"});
  expect_error(base().set("vocab_size", -5), Code::kModelInvalid, {"vocab_size", "-5"});
}

TEST(HfConfig, OtherModelsAreUnsupportedByName) {
  expect_error(base().set("architectures", Json::array().push("ModernBertModel")), Code::kModelUnsupported,
               {"ModernBertModel", "BertModel, BertForMaskedLM"});
  expect_error(base().set("architectures", Json::array().push("BertForSequenceClassification")),
               Code::kModelUnsupported, {"BertForSequenceClassification"});
  expect_error(base().set("model_type", "roberta"), Code::kModelUnsupported, {"model_type", "roberta"});
  expect_error(base().set("hidden_act", "mish"), Code::kModelUnsupported, {"hidden_act", "mish", "gelu"});
  expect_error(base().set("position_embedding_type", "relative_key"), Code::kModelUnsupported,
               {"relative_key"});
  expect_error(base().set("is_decoder", true), Code::kModelUnsupported, {"is_decoder"});
}

}  // namespace
}  // namespace anelane
