// config.json of a checkpoint in the form that transformers writes. Errors name the file and the field:
// MODEL_INVALID for what is missing or out of range, MODEL_UNSUPPORTED for another architecture.
#pragma once
#include <cstdint>
#include <string>

#include "base/json_fields.h"

namespace anelane {

enum class Activation { kGelu, kGeluTanh, kRelu, kSilu };

struct BertConfig {
  std::string architecture;
  uint32_t width = 0;  // hidden_size
  uint32_t heads = 0;
  uint32_t layers = 0;
  uint32_t ffn = 0;        // intermediate_size
  uint32_t positions = 0;  // max_position_embeddings
  uint32_t vocab = 0;
  uint32_t token_types = 0;
  float norm_eps = 0;
  Activation activation = Activation::kGelu;

  uint32_t head_width() const { return width / heads; }
  // The longest sequence. It is what the position table holds, cut to whole rows of the engine. (The
  // max_seq_length of sentence_bert_config.json, 256 for all-MiniLM-L6-v2, says where its training cut the
  // texts: a habit, not a limit of the model, and nothing is truncated here.)
  uint32_t ceiling() const { return positions / 32 * 32; }
};

Result<BertConfig> parse_bert_config(const JsonFields& file);

}  // namespace anelane
