// Reads config.json. The architecture is looked at first, so that a model that we do not serve is told so,
// not that a field of ours is missing.
#include "models/hf_config.h"

#include <iterator>

#include "base/limits.h"

namespace anelane {
namespace {

constexpr const char* kArchitectures[] = {"BertModel", "BertForMaskedLM"};

Status unsupported(const JsonFields& file, const char* field, const Json& found,
                   const std::string& supported) {
  return error(Code::kModelUnsupported, file.where() + ": " + field + ": " + describe(found) +
                                            " is not supported; supported: " + supported);
}

Result<std::string> read_architecture(const JsonFields& file) {
  ANELANE_ASSIGN(const Json::Array names, file.array("architectures"));
  if (names.empty() || !names[0].is_string()) return file.wrong("architectures", "a list of names");
  for (const char* known : kArchitectures)
    if (names[0].as_string() == known) return names[0].as_string();
  std::string supported;
  for (const char* known : kArchitectures) supported += (supported.empty() ? "" : ", ") + std::string(known);
  return unsupported(file, "architectures", names[0], supported);
}

// Fields that change the arithmetic in ways that this conversion does not know.
Status check_variants(const JsonFields& file) {
  ANELANE_ASSIGN(const std::string type, file.string("model_type", "bert"));
  if (type != "bert") return unsupported(file, "model_type", Json(type), "bert");
  ANELANE_ASSIGN(const std::string positions, file.string("position_embedding_type", "absolute"));
  if (positions != "absolute")
    return unsupported(file, "position_embedding_type", Json(positions), "absolute");
  ANELANE_ASSIGN(const bool decoder, file.boolean("is_decoder", false));
  if (decoder) return unsupported(file, "is_decoder", Json(true), "false");
  return {};
}

Result<Activation> read_activation(const JsonFields& file) {
  struct Entry {
    const char* name;
    Activation activation;
  };
  static constexpr Entry kEntries[] = {{"gelu", Activation::kGelu},
                                       {"gelu_new", Activation::kGeluTanh},
                                       {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                       {"relu", Activation::kRelu},
                                       {"silu", Activation::kSilu},
                                       {"swish", Activation::kSilu}};
  ANELANE_ASSIGN(const std::string name, file.string("hidden_act"));
  for (const Entry& entry : kEntries)
    if (name == entry.name) return entry.activation;
  return unsupported(file, "hidden_act", Json(name), "gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish");
}

Status read_count(const JsonFields& file, const char* field, int64_t min, int64_t max, uint32_t* out) {
  ANELANE_ASSIGN(const int64_t value, file.integer(field, min, max));
  *out = static_cast<uint32_t>(value);
  return {};
}

}  // namespace

Result<BertConfig> parse_bert_config(const JsonFields& file) {
  BertConfig config;
  ANELANE_ASSIGN(config.architecture, read_architecture(file));
  ANELANE_TRY(check_variants(file));
  // Query, key and value come out of one convolution, whose 3 × width channels must fit one axis.
  ANELANE_TRY(read_count(file, "hidden_size", 32, limits::kMaxAxis / 3, &config.width));
  if (config.width % 32 != 0) return file.wrong("hidden_size", "a multiple of 32 (the engine's channels)");
  ANELANE_TRY(read_count(file, "num_attention_heads", 1, config.width, &config.heads));
  if (config.width % config.heads != 0)
    return file.wrong("num_attention_heads",
                      "a divisor of hidden_size (" + std::to_string(config.width) + ")");
  ANELANE_TRY(read_count(file, "num_hidden_layers", 1, limits::kMaxLayers, &config.layers));
  ANELANE_TRY(read_count(file, "intermediate_size", 1, limits::kMaxAxis, &config.ffn));
  ANELANE_TRY(read_count(file, "max_position_embeddings", 32, limits::kMaxAxis, &config.positions));
  ANELANE_TRY(read_count(file, "vocab_size", 1, INT32_MAX, &config.vocab));
  ANELANE_TRY(read_count(file, "type_vocab_size", 1, INT32_MAX, &config.token_types));
  ANELANE_ASSIGN(const double eps, file.number("layer_norm_eps", 1e-15, 1e-2));
  config.norm_eps = static_cast<float>(eps);
  ANELANE_ASSIGN(config.activation, read_activation(file));
  return config;
}

}  // namespace anelane
