// Small checkpoints for tests: a BERT of a few layers with fixed pseudo-random weights, written in
// milliseconds as a complete folder (config, safetensors, vocabulary, pooling). The same options give the
// same bytes. The parts can be changed before they are written, so that a test of bad input breaks one thing
// only.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace anelane {

struct TinyTensor {
  std::string name;
  std::string dtype = "F32";  // as safetensors spells it: F32, F16, BF16, I64
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes;
};

struct TinyCheckpointOptions {
  uint32_t layers = 2;
  uint32_t width = 64;
  uint32_t heads = 2;
  uint32_t ffn = 128;
  uint32_t ceiling = 256;        // max_position_embeddings
  std::string prefix{};          // of tensor names: "" (BertModel) or "bert." (BertForMaskedLM)
  std::string dtype = "F32";     // of the float tensors: F32, F16 or BF16
  std::string pooling = "mean";  // mean, cls, last; "" writes no sentence-transformers files
  bool normalize = true;
  uint64_t seed = 1;
};

class TinyCheckpoint {
 public:
  explicit TinyCheckpoint(const TinyCheckpointOptions& options = {});

  // What will be written. Change it freely.
  Json config;
  Json pooling_config;
  Json modules;
  std::vector<TinyTensor> tensors;
  std::vector<std::string> vocab;  // one token a line; the ids of a text are the lines' numbers
  Json tokenizer_config;

  TinyTensor* find(std::string_view name);
  void remove(std::string_view name);

  // Creates the folder and the files in it.
  Status write(const std::string& folder) const;

 private:
  TinyCheckpointOptions options_;
};

// The usual case in one call.
Status write_tiny_checkpoint(const std::string& folder, const TinyCheckpointOptions& options = {});

// A safetensors file of these tensors, packed in their order.
std::string safetensors_bytes(const std::vector<TinyTensor>& tensors);
// The same with a header of the caller's own making, for hostile files.
std::string safetensors_bytes(std::string_view header, std::string_view data);

// A fresh folder under TMPDIR or /tmp, removed with everything in it at the end of the scope.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace anelane
