// Writes the small checkpoints of the tests. Weights come from a fixed generator (SplitMix64), scaled like
// those of a trained encoder: small matrices, norms near one, so that vectors of different texts differ and
// nothing overflows fp16. The vocabulary holds the special tokens, the printable ASCII characters as whole
// words and as continuations, and some words.
#include "support/tiny_checkpoint.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/fp16.h"

namespace anelane {
namespace {

class Weights {
 public:
  explicit Weights(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull) {}
  // Uniform in centre ± spread.
  float next(float centre, float spread) {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    const float unit = static_cast<float>(z >> 40) * 0x1p-24f;
    return centre + spread * (2 * unit - 1);
  }

 private:
  uint64_t state_;
};

void append_value(const std::string& dtype, float value, std::vector<uint8_t>* out) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  size_t size = 4;
  if (dtype == "F16") {
    bits = float_to_half(value);
    size = 2;
  } else if (dtype == "BF16") {
    bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    size = 2;
  }
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

TinyTensor make_tensor(std::string name, std::vector<uint64_t> shape, const std::string& dtype,
                       Weights* weights, float centre, float spread) {
  TinyTensor tensor{std::move(name), dtype, std::move(shape), {}};
  uint64_t count = 1;
  for (const uint64_t dim : tensor.shape) count *= dim;
  for (uint64_t i = 0; i < count; ++i) append_value(dtype, weights->next(centre, spread), &tensor.bytes);
  return tensor;
}

std::vector<std::string> make_vocab() {
  std::vector<std::string> vocab = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = '!'; c <= '~'; ++c)
    if (c < 'A' || c > 'Z') vocab.emplace_back(1, c);
  for (char c = 'a'; c <= 'z'; ++c) vocab.push_back(std::string("##") + c);
  for (char c = '0'; c <= '9'; ++c) vocab.push_back(std::string("##") + c);
  for (const char* word : {"the", "and", "of", "hello", "world", "engine", "lane", "##ing", "##ed", "##s"})
    vocab.emplace_back(word);
  return vocab;
}

Json pooling_json(const TinyCheckpointOptions& options) {
  Json json = Json::object();
  json.set("word_embedding_dimension", options.width);
  json.set("pooling_mode_cls_token", options.pooling == "cls");
  json.set("pooling_mode_mean_tokens", options.pooling == "mean");
  json.set("pooling_mode_lasttoken", options.pooling == "last");
  return json;
}

Json module_json(int index, const char* path, const char* type) {
  return Json::object()
      .set("idx", index)
      .set("name", std::to_string(index))
      .set("path", path)
      .set("type", std::string("sentence_transformers.models.") + type);
}

Json config_json(const TinyCheckpointOptions& options, size_t vocab_size) {
  return Json::object()
      .set("architectures", Json::array().push(options.prefix.empty() ? "BertModel" : "BertForMaskedLM"))
      .set("model_type", "bert")
      .set("hidden_act", "gelu")
      .set("hidden_size", options.width)
      .set("intermediate_size", options.ffn)
      .set("layer_norm_eps", 1e-12)
      .set("max_position_embeddings", options.ceiling)
      .set("num_attention_heads", options.heads)
      .set("num_hidden_layers", options.layers)
      .set("position_embedding_type", "absolute")
      .set("type_vocab_size", 2)
      .set("vocab_size", static_cast<uint64_t>(vocab_size));
}

std::vector<TinyTensor> make_tensors(const TinyCheckpointOptions& o, size_t vocab_size) {
  Weights weights(o.seed);
  std::vector<TinyTensor> out;
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t cols, float spread) {
    out.push_back(make_tensor(o.prefix + name, {rows, cols}, o.dtype, &weights, 0, spread));
  };
  const auto vector = [&](const std::string& name, uint64_t size, float centre, float spread) {
    out.push_back(make_tensor(o.prefix + name, {size}, o.dtype, &weights, centre, spread));
  };
  const auto linear = [&](const std::string& name, uint64_t rows, uint64_t cols) {
    matrix(name + ".weight", rows, cols, 0.15f);
    vector(name + ".bias", rows, 0, 0.05f);
  };
  const auto norm = [&](const std::string& name) {
    vector(name + ".weight", o.width, 1, 0.2f);
    vector(name + ".bias", o.width, 0, 0.1f);
  };
  matrix("embeddings.word_embeddings.weight", vocab_size, o.width, 1);
  matrix("embeddings.position_embeddings.weight", o.ceiling, o.width, 0.3f);
  matrix("embeddings.token_type_embeddings.weight", 2, o.width, 0.1f);
  norm("embeddings.LayerNorm");
  for (uint32_t i = 0; i < o.layers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char* part : {"query", "key", "value"})
      linear(layer + "attention.self." + part, o.width, o.width);
    linear(layer + "attention.output.dense", o.width, o.width);
    norm(layer + "attention.output.LayerNorm");
    linear(layer + "intermediate.dense", o.ffn, o.width);
    linear(layer + "output.dense", o.width, o.ffn);
    norm(layer + "output.LayerNorm");
  }
  return out;
}

}  // namespace

TinyCheckpoint::TinyCheckpoint(const TinyCheckpointOptions& options)
    : vocab(make_vocab()), options_(options) {
  config = config_json(options, vocab.size());
  tensors = make_tensors(options, vocab.size());
  pooling_config = pooling_json(options);
  modules =
      Json::array().push(module_json(0, "", "Transformer")).push(module_json(1, "1_Pooling", "Pooling"));
  if (options.normalize) modules.push(module_json(2, "2_Normalize", "Normalize"));
  tokenizer_config = Json::object().set("do_lower_case", true).set("tokenizer_class", "BertTokenizer");
}

TinyTensor* TinyCheckpoint::find(std::string_view name) {
  for (TinyTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

void TinyCheckpoint::remove(std::string_view name) {
  std::erase_if(tensors, [&](const TinyTensor& tensor) { return tensor.name == name; });
}

Status TinyCheckpoint::write(const std::string& folder) const {
  ANELANE_TRY(make_folders(folder));
  ANELANE_TRY(write_file_atomic(join_path(folder, "config.json"), config.dump()));
  ANELANE_TRY(write_file_atomic(join_path(folder, "tokenizer_config.json"), tokenizer_config.dump()));
  std::string lines;
  for (const std::string& token : vocab) lines += token + "\n";
  ANELANE_TRY(write_file_atomic(join_path(folder, "vocab.txt"), lines));
  if (!options_.pooling.empty()) {
    ANELANE_TRY(make_folders(join_path(folder, "1_Pooling")));
    ANELANE_TRY(write_file_atomic(join_path(folder, "1_Pooling/config.json"), pooling_config.dump()));
    ANELANE_TRY(write_file_atomic(join_path(folder, "modules.json"), modules.dump()));
  }
  return write_file_atomic(join_path(folder, "model.safetensors"), safetensors_bytes(tensors));
}

Status write_tiny_checkpoint(const std::string& folder, const TinyCheckpointOptions& options) {
  return TinyCheckpoint(options).write(folder);
}

std::string safetensors_bytes(const std::vector<TinyTensor>& tensors) {
  Json header = Json::object();
  std::string data;
  for (const TinyTensor& tensor : tensors) {
    Json shape = Json::array();
    for (const uint64_t dim : tensor.shape) shape.push(dim);
    const uint64_t begin = data.size();
    data.append(tensor.bytes.begin(), tensor.bytes.end());
    header.set(tensor.name, Json::object()
                                .set("dtype", tensor.dtype)
                                .set("shape", shape)
                                .set("data_offsets", Json::array().push(begin).push(uint64_t{data.size()})));
  }
  return safetensors_bytes(header.dump(), data);
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string out;
  const uint64_t size = header.size();
  for (int i = 0; i < 8; ++i) out += static_cast<char>(size >> (8 * i));
  out += header;
  out += data;
  return out;
}

TempFolder::TempFolder() {
  const char* base = std::getenv("TMPDIR");
  path_ = join_path(base != nullptr && base[0] == '/' ? base : "/tmp", "anelane-test-XXXXXX");
  if (::mkdtemp(path_.data()) == nullptr) std::abort();  // a test cannot go on without one
}

TempFolder::~TempFolder() {
  static_cast<void>(remove_tree(path_));
}

std::string TempFolder::file(std::string_view name) const {
  return join_path(path_, name);
}

}  // namespace anelane
