// The checkpoint of `anelane selftest`. Weights come from SplitMix64, scaled like those of a trained encoder:
// small matrices, norms near one; so vectors of different texts differ, and nothing leaves the range of fp16.
// safetensors is a little-endian length, a JSON header and the bytes; all tensors are F32. No state.
#include "tiny_model.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace anelane_tool {
namespace {

class Generator {
 public:
  // Uniform in centre ± spread.
  float next(float centre, float spread) {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return centre + spread * (2 * (static_cast<float>(z >> 40) * 0x1p-24f) - 1);
  }

 private:
  uint64_t state_ = 20'240'229;
};

std::string safetensors_bytes(const std::map<std::string, TinyModel::Tensor>& tensors) {
  std::string header = "{";
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
    std::string shape;
    for (const uint32_t dim : tensor.shape) shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    header += (header.size() == 1 ? "\"" : ",\"") + name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // so that the floats are aligned in the file
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i));
  return out + header + data;
}

std::optional<std::string> write_file(const std::string& path, const std::string& content) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  bool good = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (file != nullptr && std::fclose(file) != 0) good = false;
  if (good) return std::nullopt;
  return "cannot write " + path + ": " + std::strerror(errno);
}

std::string config_json(size_t vocabulary) {
  const auto number = [](uint64_t value) { return std::to_string(value); };
  return "{\"architectures\":[\"BertModel\"],\"model_type\":\"bert\",\"hidden_act\":\"gelu\",\"hidden_"
         "size\":" +
         number(TinyModel::kWidth) + ",\"intermediate_size\":" + number(TinyModel::kInner) +
         ",\"layer_norm_eps\":1e-12,\"max_position_embeddings\":" + number(TinyModel::kCeiling) +
         ",\"num_attention_heads\":" + number(TinyModel::kHeads) +
         ",\"num_hidden_layers\":" + number(TinyModel::kLayers) +
         ",\"position_embedding_type\":\"absolute\",\"type_vocab_size\":2," +
         "\"pad_token_id\":0,\"vocab_size\":" + number(vocabulary) + "}";
}

constexpr const char* kModules =
    "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
    "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"},"
    "{\"idx\":2,\"name\":\"2\",\"path\":\"2_Normalize\",\"type\":\"sentence_transformers.models.Normalize\"}"
    "]";

}  // namespace

TinyModel::TinyModel() {
  vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = 'a'; c <= 'z'; ++c) vocabulary.emplace_back(1, c);
  for (char c = 'a'; c <= 'z'; ++c) vocabulary.push_back(std::string("##") + c);
  Generator weights;
  const auto add = [&](const std::string& name, std::vector<uint32_t> shape, float centre, float spread) {
    Tensor tensor{std::move(shape), {}};
    size_t count = 1;
    for (const uint32_t dim : tensor.shape) count *= dim;
    for (size_t i = 0; i < count; ++i) tensor.values.push_back(weights.next(centre, spread));
    tensors.emplace(name, std::move(tensor));
  };
  const auto linear = [&](const std::string& name, uint32_t rows, uint32_t cols) {
    add(name + ".weight", {rows, cols}, 0, 0.15f);
    add(name + ".bias", {rows}, 0, 0.05f);
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", {kWidth}, 1, 0.2f);
    add(name + ".bias", {kWidth}, 0, 0.1f);
  };
  add("embeddings.word_embeddings.weight", {static_cast<uint32_t>(vocabulary.size()), kWidth}, 0, 1);
  add("embeddings.position_embeddings.weight", {kCeiling, kWidth}, 0, 0.3f);
  add("embeddings.token_type_embeddings.weight", {2, kWidth}, 0, 0.1f);
  norm("embeddings.LayerNorm");
  for (uint32_t i = 0; i < kLayers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char* part : {"query", "key", "value"})
      linear(layer + "attention.self." + part, kWidth, kWidth);
    linear(layer + "attention.output.dense", kWidth, kWidth);
    norm(layer + "attention.output.LayerNorm");
    linear(layer + "intermediate.dense", kInner, kWidth);
    linear(layer + "output.dense", kWidth, kInner);
    norm(layer + "output.LayerNorm");
  }
}

std::optional<std::string> TinyModel::write(const std::string& folder) const {
  std::error_code failed;
  std::filesystem::create_directories(folder + "/1_Pooling", failed);
  if (failed) return "cannot create " + folder + "/1_Pooling: " + failed.message();
  std::string lines;
  for (const std::string& token : vocabulary) lines += token + "\n";
  const std::string pooling = "{\"word_embedding_dimension\":" + std::to_string(kWidth) +
                              ",\"pooling_mode_cls_token\":false,\"pooling_mode_mean_tokens\":true}";
  const std::pair<const char*, std::string> files[] = {
      {"config.json", config_json(vocabulary.size())},
      {"vocab.txt", lines},
      {"tokenizer_config.json", "{\"do_lower_case\":true,\"tokenizer_class\":\"BertTokenizer\"}"},
      {"modules.json", kModules},
      {"1_Pooling/config.json", pooling},
      {"model.safetensors", safetensors_bytes(tensors)}};
  for (const auto& [name, content] : files)
    if (auto fault = write_file(folder + "/" + name, content)) return fault;
  return std::nullopt;
}

}  // namespace anelane_tool
