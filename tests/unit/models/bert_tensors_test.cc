#include "models/bert_tensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

// The first error of reading these tensors as a BERT.
Status check(const TinyCheckpoint& checkpoint) {
  const std::string bytes = safetensors_bytes(checkpoint.tensors);
  Result<BertConfig> config = parse_bert_config(JsonFields("config.json", checkpoint.config));
  EXPECT_TRUE(config.ok()) << config.status().message();
  Result<Safetensors> file = Safetensors::parse(
      "model.safetensors", std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  EXPECT_TRUE(file.ok()) << file.status().message();
  ANELANE_ASSIGN(const BertTensors tensors, find_bert_tensors(*file, *config));
  EXPECT_EQ(tensors.layers.size(), config->layers);
  return check_bert_values(*file, tensors);
}

void expect_error(const TinyCheckpoint& checkpoint, Code code, std::initializer_list<const char*> parts) {
  const Status status = check(checkpoint);
  EXPECT_EQ(status.code(), code) << status.message();
  for (const char* part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

void set_float(TinyTensor* tensor, size_t element, float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  for (size_t i = 0; i < 4; ++i) tensor->bytes[4 * element + i] = static_cast<uint8_t>(bits >> (8 * i));
}

TEST(BertTensors, BothPrefixesAndAllFloatTypesAreAccepted) {
  for (const char* prefix : {"", "bert."})
    for (const char* dtype : {"F32", "F16", "BF16"}) {
      const Status status = check(TinyCheckpoint({.prefix = prefix, .dtype = dtype}));
      EXPECT_TRUE(status.ok()) << status.message();
    }
}

TEST(BertTensors, OldNamesOfNormsAreAccepted) {
  TinyCheckpoint c;
  for (TinyTensor& tensor : c.tensors) {
    const size_t at = tensor.name.find("LayerNorm.");
    if (at != std::string::npos)
      tensor.name = tensor.name.substr(0, at + 10) + (tensor.name.ends_with("weight") ? "gamma" : "beta");
  }
  EXPECT_TRUE(check(c).ok()) << check(c).message();
}

TEST(BertTensors, TensorsThatAreNotUsedDoNotMatter) {
  TinyCheckpoint c;
  c.tensors.push_back({"embeddings.position_ids", "I64", {1, 2}, std::vector<uint8_t>(16)});
  c.tensors.push_back({"pooler.dense.weight", "F64", {1}, std::vector<uint8_t>(8)});
  EXPECT_TRUE(check(c).ok());
}

TEST(BertTensors, AnyMissingTensorIsNamed) {
  const TinyCheckpoint whole;
  for (const TinyTensor& tensor : whole.tensors) {
    TinyCheckpoint c;
    c.remove(tensor.name);
    expect_error(c, Code::kModelInvalid, {"model.safetensors", tensor.name.c_str(), "no such tensor"});
  }
}

TEST(BertTensors, WrongShapesAreNamed) {
  TinyCheckpoint c;
  c.find("encoder.layer.1.intermediate.dense.weight")->shape = {64, 128};
  expect_error(c, Code::kModelInvalid,
               {"encoder.layer.1.intermediate.dense.weight", "expected shape [128, 64]", "found [64, 128]"});
  c = TinyCheckpoint();
  c.config.set("vocab_size", 5);
  expect_error(c, Code::kModelInvalid, {"word_embeddings", "expected shape [5, 64]"});
  c = TinyCheckpoint();
  c.config.set("num_hidden_layers", 3);
  expect_error(c, Code::kModelInvalid, {"encoder.layer.2.", "no such tensor"});
}

TEST(BertTensors, WrongTypesAreNamed) {
  TinyCheckpoint c;
  TinyTensor* tensor = c.find("encoder.layer.0.output.dense.bias");
  tensor->dtype = "I32";
  expect_error(c, Code::kModelUnsupported,
               {"encoder.layer.0.output.dense.bias", "found I32", "F32, F16 or BF16"});
}

TEST(BertTensors, ValuesBeyondFp16AreNamed) {
  TinyCheckpoint c;
  set_float(c.find("encoder.layer.1.output.dense.weight"), 77, 70000);
  expect_error(c, Code::kModelInvalid,
               {"encoder.layer.1.output.dense.weight", "element 77", "70000", "65504"});
  c = TinyCheckpoint();
  set_float(c.find("encoder.layer.0.attention.self.key.bias"), 3, std::nanf(""));
  expect_error(c, Code::kModelInvalid, {"attention.self.key.bias", "element 3", "nan"});
  c = TinyCheckpoint();
  set_float(c.find("embeddings.word_embeddings.weight"), 6000, INFINITY);
  expect_error(c, Code::kModelInvalid, {"word_embeddings", "element 6000", "inf"});
  c = TinyCheckpoint();  // stays on the CPU, in fp32
  set_float(c.find("embeddings.word_embeddings.weight"), 6000, 70000);
  EXPECT_TRUE(check(c).ok());
}

}  // namespace
}  // namespace anelane
