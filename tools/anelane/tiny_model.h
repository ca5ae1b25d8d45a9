// A checkpoint small enough to be made on the spot: a BERT encoder of two layers with fixed pseudo-random
// weights.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace anelane_tool {

struct TinyModel {
  static constexpr uint32_t kLayers = 2;
  static constexpr uint32_t kWidth = 64;
  static constexpr uint32_t kHeads = 2;
  static constexpr uint32_t kInner = 128;
  static constexpr uint32_t kCeiling = 256;
  static constexpr double kEpsilon = 1e-12;

  struct Tensor {
    std::vector<uint32_t> shape;
    std::vector<float> values;
  };

  // The same weights each time.
  TinyModel();
  // config.json, vocab.txt, model.safetensors and the pooling files. Nothing, or what went wrong.
  std::optional<std::string> write(const std::string& folder) const;

  std::map<std::string, Tensor> tensors;  // by their names in the checkpoint
  std::vector<std::string> vocabulary;    // a token's id is its index
};

}  // namespace anelane_tool
