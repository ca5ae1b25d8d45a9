// The tensors of a BERT checkpoint, found by name and checked: present, float, of the shape that config.json
// says.
#pragma once
#include <vector>

#include "models/hf_config.h"
#include "models/safetensors.h"

namespace anelane {

struct LinearTensors {
  TensorView weight;  // [outputs, inputs]
  TensorView bias;    // [outputs]
};
struct NormTensors {
  TensorView weight, bias;  // [width]
};

struct BertLayerTensors {
  LinearTensors query, key, value, attention_output;
  NormTensors attention_norm;
  LinearTensors intermediate, output;
  NormTensors output_norm;
};

struct BertTensors {
  TensorView words;        // [vocab, width]
  TensorView positions;    // [positions, width]
  TensorView token_types;  // [token_types, width]
  NormTensors norm;
  std::vector<BertLayerTensors> layers;
};

Result<BertTensors> find_bert_tensors(const Safetensors& file, const BertConfig& config);
// Reads every value: finite, and those that go to the engine within fp16. MODEL_INVALID names tensor and
// element.
Status check_bert_values(const Safetensors& file, const BertTensors& tensors);

}  // namespace anelane
