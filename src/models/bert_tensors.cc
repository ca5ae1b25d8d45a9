// Names as transformers writes them: bare for BertModel, below "bert." for models with a head; norms of old
// checkpoints are called gamma and beta. The head's own tensors are not read.
#include "models/bert_tensors.h"

#include <algorithm>
#include <cmath>

namespace anelane {
namespace {

constexpr float kLargestHalf = 65504;

class Finder {
 public:
  Finder(const Safetensors& file, const BertConfig& config) : file_(file), config_(config) {
    const std::string headed = "bert.embeddings.word_embeddings.weight";
    prefix_ = file.find(headed) != nullptr ? "bert." : "";
  }

  Status matrix(const std::string& name, uint64_t rows, uint64_t cols, TensorView* out) const {
    const Shape shape{rows, cols};
    ANELANE_ASSIGN(*out, file_.expect(prefix_ + name, shape));
    return {};
  }

  Status linear(const std::string& name, uint64_t outputs, uint64_t inputs, LinearTensors* out) const {
    ANELANE_TRY(matrix(name + ".weight", outputs, inputs, &out->weight));
    const Shape shape{outputs};
    ANELANE_ASSIGN(out->bias, file_.expect(prefix_ + name + ".bias", shape));
    return {};
  }

  Status norm(const std::string& name, NormTensors* out) const {
    const bool old = file_.find(prefix_ + name + ".gamma") != nullptr;
    const Shape shape{config_.width};
    ANELANE_ASSIGN(out->weight, file_.expect(prefix_ + name + (old ? ".gamma" : ".weight"), shape));
    ANELANE_ASSIGN(out->bias, file_.expect(prefix_ + name + (old ? ".beta" : ".bias"), shape));
    return {};
  }

  Result<BertLayerTensors> layer(uint32_t index) const {
    const std::string at = "encoder.layer." + std::to_string(index) + ".";
    const uint64_t width = config_.width;
    BertLayerTensors out;
    ANELANE_TRY(linear(at + "attention.self.query", width, width, &out.query));
    ANELANE_TRY(linear(at + "attention.self.key", width, width, &out.key));
    ANELANE_TRY(linear(at + "attention.self.value", width, width, &out.value));
    ANELANE_TRY(linear(at + "attention.output.dense", width, width, &out.attention_output));
    ANELANE_TRY(norm(at + "attention.output.LayerNorm", &out.attention_norm));
    ANELANE_TRY(linear(at + "intermediate.dense", config_.ffn, width, &out.intermediate));
    ANELANE_TRY(linear(at + "output.dense", width, config_.ffn, &out.output));
    ANELANE_TRY(norm(at + "output.LayerNorm", &out.output_norm));
    return out;
  }

 private:
  const Safetensors& file_;
  const BertConfig& config_;
  std::string prefix_;
};

// The first element whose magnitude is beyond `limit` (or that is no number) makes the error.
Status check_values(const Safetensors& file, const TensorView& tensor, float limit) {
  std::vector<float> block(4096);
  for (uint64_t first = 0; first < tensor.elements; first += block.size()) {
    const std::span<float> part(block.data(), std::min<uint64_t>(block.size(), tensor.elements - first));
    read_floats(tensor, first, part);
    size_t bad = 0;
    for (const float value : part) bad += std::fabs(value) <= limit ? 0 : 1;
    if (bad == 0) continue;
    const auto at = std::find_if(part.begin(), part.end(), [&](float v) { return !(std::fabs(v) <= limit); });
    return error(Code::kModelInvalid,
                 file.where() + ": tensor " + tensor.name + ": element " +
                     std::to_string(first + static_cast<uint64_t>(at - part.begin())) + " is " +
                     std::to_string(*at) + ", expected a finite value" +
                     (limit == kLargestHalf ? " of at most 65504 (the engine computes in fp16)" : ""));
  }
  return {};
}

}  // namespace

Result<BertTensors> find_bert_tensors(const Safetensors& file, const BertConfig& config) {
  const Finder finder(file, config);
  BertTensors out;
  ANELANE_TRY(finder.matrix("embeddings.word_embeddings.weight", config.vocab, config.width, &out.words));
  ANELANE_TRY(
      finder.matrix("embeddings.position_embeddings.weight", config.positions, config.width, &out.positions));
  ANELANE_TRY(finder.matrix("embeddings.token_type_embeddings.weight", config.token_types, config.width,
                            &out.token_types));
  ANELANE_TRY(finder.norm("embeddings.LayerNorm", &out.norm));
  for (uint32_t i = 0; i < config.layers; ++i) {
    ANELANE_ASSIGN(BertLayerTensors layer, finder.layer(i));
    out.layers.push_back(std::move(layer));
  }
  return out;
}

Status check_bert_values(const Safetensors& file, const BertTensors& tensors) {
  constexpr float kFinite = 3.4028235e38f;
  for (const TensorView* tensor :
       {&tensors.words, &tensors.positions, &tensors.token_types, &tensors.norm.weight, &tensors.norm.bias})
    ANELANE_TRY(check_values(file, *tensor, kFinite));
  for (const BertLayerTensors& layer : tensors.layers) {
    for (const LinearTensors* linear : {&layer.query, &layer.key, &layer.value, &layer.attention_output,
                                        &layer.intermediate, &layer.output}) {
      ANELANE_TRY(check_values(file, linear->weight, kLargestHalf));
      ANELANE_TRY(check_values(file, linear->bias, kLargestHalf));
    }
    for (const NormTensors* norm : {&layer.attention_norm, &layer.output_norm}) {
      ANELANE_TRY(check_values(file, norm->weight, kLargestHalf));
      ANELANE_TRY(check_values(file, norm->bias, kLargestHalf));
    }
  }
  return {};
}

}  // namespace anelane
