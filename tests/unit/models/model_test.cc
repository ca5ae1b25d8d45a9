#include "models/model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

class ModelTest : public testing::Test {
 protected:
  std::string write(const TinyCheckpoint& checkpoint) {
    EXPECT_TRUE(checkpoint.write(folder_.path()).ok());
    return folder_.path();
  }
  // Both ways in must say the same.
  void expect_error(const std::string& path, Code code, std::initializer_list<const char*> parts,
                    const ModelOpenOptions& options = {}) {
    for (const Status& status : {open_model(path, options).status(), inspect_model(path, options).status()}) {
      EXPECT_EQ(status.code(), code) << status.message();
      for (const char* part : parts)
        EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
  }
  TempFolder folder_;
};

TEST_F(ModelTest, InspectTellsTheSameWithoutTheDigest) {
  const std::string path = write(TinyCheckpoint());
  Result<ModelSummary> inspected = inspect_model(path, {.name = "mine"});
  Result<std::shared_ptr<const Model>> opened = open_model(path, {.name = "mine"});
  ASSERT_TRUE(inspected.ok() && opened.ok()) << inspected.status().message() << opened.status().message();
  EXPECT_TRUE(inspected->checkpoint_digest.empty());
  EXPECT_EQ(inspected->name, "mine");
  EXPECT_EQ(inspected->ladder, (*opened)->summary().ladder);
  EXPECT_EQ(inspected->layers, (*opened)->summary().layers);
  EXPECT_EQ(inspected->host_bytes, (*opened)->summary().host_bytes);
}

TEST_F(ModelTest, TheNameIsTheFoldersEvenWithSlashes) {
  TinyCheckpoint checkpoint;
  ASSERT_TRUE(checkpoint.write(folder_.file("my-model")).ok());
  EXPECT_EQ(inspect_model(folder_.file("my-model"), {})->name, "my-model");
  EXPECT_EQ(inspect_model(folder_.file("my-model///"), {})->name, "my-model");
}

TEST_F(ModelTest, L10_4_OtherWeightsAreAnotherDigest) {
  TinyCheckpoint checkpoint;
  write(checkpoint);
  const std::string first = (*open_model(folder_.path(), {}))->summary().checkpoint_digest;
  EXPECT_EQ((*open_model(folder_.path(), {}))->summary().checkpoint_digest, first);
  checkpoint.find("encoder.layer.0.output.dense.bias")->bytes[0] ^= 1;
  write(checkpoint);
  EXPECT_NE((*open_model(folder_.path(), {}))->summary().checkpoint_digest, first);
}

TEST_F(ModelTest, L2_2_WantedRungsAreServedOrRefused) {
  const std::string path = write(TinyCheckpoint());
  EXPECT_EQ(inspect_model(path, {.rungs = {64, 256}})->ladder, (std::vector<uint32_t>{64, 256}));
  expect_error(path, Code::kInvalidArgument, {"128 follows 256"}, {.rungs = {256, 128}});
  expect_error(path, Code::kInvalidArgument, {"512 is beyond", "256"}, {.rungs = {128, 512}});
}

TEST_F(ModelTest, F28_PathsThatAreNoCheckpointAreNamed) {
  ASSERT_TRUE(write_file_atomic(folder_.file("file"), "x").ok());
  expect_error(folder_.file("file"), Code::kIo, {"file", "it is a file"});
  expect_error(folder_.file("nowhere"), Code::kIo, {"nowhere", "no such folder"});
  expect_error(folder_.path(), Code::kIo, {"config.json"});
  expect_error("", Code::kIo, {"folder"});
}

TEST_F(ModelTest, F28_FilesOfTheWrongKindAreErrorsAndNeverBlock) {
  const std::string path = write(TinyCheckpoint());
  ASSERT_EQ(::unlink(folder_.file("config.json").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder_.file("config.json").c_str(), 0600), 0);
  expect_error(path, Code::kIo, {"config.json", "not a regular file"});
  ASSERT_EQ(::unlink(folder_.file("config.json").c_str()), 0);
  ASSERT_EQ(::symlink("config.json", folder_.file("config.json").c_str()), 0);  // points at itself
  expect_error(path, Code::kIo, {"config.json"});
  write(TinyCheckpoint());
  ASSERT_EQ(::unlink(folder_.file("model.safetensors").c_str()), 0);
  ASSERT_EQ(::mkdir(folder_.file("model.safetensors").c_str(), 0700), 0);
  expect_error(path, Code::kIo, {"model.safetensors", "folder"});
  ASSERT_EQ(::rmdir(folder_.file("model.safetensors").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/zero", folder_.file("model.safetensors").c_str()), 0);  // has no end
  expect_error(path, Code::kIo, {"model.safetensors", "not a regular file"});
}

TEST_F(ModelTest, WeightsInAnotherFormAreUnsupportedByName) {
  const std::string path = write(TinyCheckpoint());
  ASSERT_EQ(::unlink(folder_.file("model.safetensors").c_str()), 0);
  expect_error(path, Code::kIo, {"model.safetensors"});
  ASSERT_TRUE(write_file_atomic(folder_.file("pytorch_model.bin"), "x").ok());
  expect_error(path, Code::kModelUnsupported, {"pytorch_model.bin", "model.safetensors"});
}

TEST_F(ModelTest, BrokenFilesAreNamed) {
  const std::string path = write(TinyCheckpoint());
  ASSERT_TRUE(write_file_atomic(folder_.file("config.json"), "{\"hidden_size\": ").ok());
  expect_error(path, Code::kModelInvalid, {"config.json", "byte"});
  ASSERT_TRUE(write_file_atomic(folder_.file("config.json"), "[1]").ok());
  expect_error(path, Code::kModelInvalid, {"config.json", "JSON object"});
  write(TinyCheckpoint());
  ASSERT_TRUE(write_file_atomic(folder_.file("model.safetensors"), "").ok());
  expect_error(path, Code::kModelInvalid, {"model.safetensors", "too short"});
  TinyCheckpoint checkpoint;
  checkpoint.remove("embeddings.LayerNorm.bias");
  expect_error(write(checkpoint), Code::kModelInvalid, {"embeddings.LayerNorm.bias"});
  checkpoint = TinyCheckpoint();
  checkpoint.config.set("architectures", Json::array().push("LlamaForCausalLM"));
  expect_error(write(checkpoint), Code::kModelUnsupported, {"LlamaForCausalLM", "BertModel"});
}

// The models that are named in the documents but not served, and one that does not exist: refused by name.
TEST_F(ModelTest, S011_ArchitecturesThatAreNotServedAreUnsupported) {
  for (const char* architecture : {"LlamaForCausalLM", "unknown"}) {
    TinyCheckpoint checkpoint;
    checkpoint.config.set("architectures", Json::array().push(architecture)).set("model_type", "unknown");
    expect_error(write(checkpoint), Code::kModelUnsupported, {architecture, "BertModel"});
  }
}

// The charge of a resident shape is the checkpoint's number of layers, at every rung.
TEST_F(ModelTest, S011_TheChargeIsTheNumberOfLayers) {
  for (const uint32_t layers : {1u, 6u, 22u, 28u}) {
    const std::string path = folder_.file(std::to_string(layers));
    ASSERT_TRUE(write_tiny_checkpoint(path, {.layers = layers, .width = 32, .heads = 1, .ffn = 32}).ok());
    EXPECT_EQ(inspect_model(path, {})->layers, layers);
    EXPECT_EQ((*open_model(path, {}))->summary().layers, layers);
  }
}

// inspect reads headers only: a value that open refuses does not matter to it.
TEST_F(ModelTest, OpenReadsEveryValueAndInspectNone) {
  TinyCheckpoint checkpoint;
  TinyTensor* bias = checkpoint.find("encoder.layer.1.output.dense.bias");
  bias->bytes[2] = 0x80;  // infinity
  bias->bytes[3] = 0x7f;
  bias->bytes[0] = bias->bytes[1] = 0;
  const std::string path = write(checkpoint);
  EXPECT_TRUE(inspect_model(path, {}).ok());
  const Status status = open_model(path, {}).status();
  EXPECT_EQ(status.code(), Code::kModelInvalid);
  EXPECT_NE(status.message().find("encoder.layer.1.output.dense.bias: element 0"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace anelane
