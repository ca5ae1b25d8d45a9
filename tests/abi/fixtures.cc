// Flawed checkpoints, each broken in one place, and the golden vectors. Failures end the program: a test
// cannot go on without its fixtures.
#include "fixtures.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "support/tiny_checkpoint.h"

namespace {

using anelane::Json;
using anelane::TinyCheckpoint;

constexpr const char* kTensor = "encoder.layer.1.output.dense.weight";

void require(const anelane::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "fixtures: %s\n", status.message().c_str());
  std::exit(1);
}

// What is written over model.safetensors after the checkpoint itself.
std::string spoiled_file(const std::string& flaw, const TinyCheckpoint& tiny) {
  const std::string whole = anelane::safetensors_bytes(tiny.tensors);
  if (flaw == "truncated-header") return whole.substr(0, 40);
  if (flaw == "truncated-data") return whole.substr(0, whole.size() - 1);
  if (flaw == "huge-header") return std::string("\0\0\0\0\0\0\0\x80", 8) + "{}";
  if (flaw == "overlap")
    return anelane::safetensors_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                      std::string(12, '\0'));
  if (flaw == "huge-offset")
    return anelane::safetensors_bytes(
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[9223372036854775808,9223372036854775816]}})",
        std::string(8, '\0'));
  if (flaw == "huge-shape")
    return anelane::safetensors_bytes(
        R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
        std::string(8, '\0'));
  return whole;
}

// What is changed before the checkpoint is written.
const std::map<std::string, std::function<void(TinyCheckpoint*)>> kChanges = {
    {"missing-tensor", [](TinyCheckpoint* tiny) { tiny->remove(kTensor); }},
    {"wrong-dtype",
     [](TinyCheckpoint* tiny) {
       anelane::TinyTensor* tensor = tiny->find(kTensor);
       tensor->dtype = "I64";
       tensor->bytes.resize(tensor->bytes.size() * 2);
     }},
    {"wrong-shape",
     [](TinyCheckpoint* tiny) {
       anelane::TinyTensor* tensor = tiny->find(kTensor);
       tensor->shape = {tensor->shape[0], tensor->shape[1] - 1};
       tensor->bytes.resize(tensor->shape[0] * tensor->shape[1] * sizeof(float));
     }},
    {"unknown-architecture",
     [](TinyCheckpoint* tiny) {
       tiny->config.set("architectures", Json::array().push("WarpForTimeTravel")).set("model_type", "warp");
     }},
    {"field-type", [](TinyCheckpoint* tiny) { tiny->config.set("hidden_size", "wide"); }},
    {"field-range", [](TinyCheckpoint* tiny) { tiny->config.set("num_hidden_layers", 1'000'000); }}};

// Little-endian float32 in hexadecimal.
std::vector<float> floats_of(const std::string& hex) {
  std::vector<float> out;
  for (size_t i = 0; i + 8 <= hex.size(); i += 8) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k)
      bits |= static_cast<uint32_t>(std::stoul(hex.substr(i + 2 * k, 2), nullptr, 16)) << (8 * k);
    out.push_back(std::bit_cast<float>(bits));
  }
  return out;
}

// One JSON object a line.
struct Golden {
  Golden() {
    const std::string path = std::string(ANELANE_SOURCE_DIR) + "/tests/data/minilm_golden.jsonl";
    const auto text = anelane::read_file(path, 64u << 20);
    require(text.status());
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      const auto json = anelane::parse_json(line, path);
      require(json.status());
      texts.push_back(json->at("text").as_string());
      vectors.push_back(floats_of(json->at("vector").as_string()));
      ids.emplace_back();
      for (const Json& id : json->at("ids").as_array())
        ids.back().push_back(static_cast<int32_t>(id.as_int()));
    }
  }
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<float>> vectors;
};

const Golden& golden() {
  static const Golden the;
  return the;
}

}  // namespace

extern "C" {

void write_tiny(const char* folder, const char* flaw_or_null) {
  const std::string flaw = flaw_or_null != nullptr ? flaw_or_null : "";
  TinyCheckpoint tiny;
  const auto change = kChanges.find(flaw);
  if (change != kChanges.end()) change->second(&tiny);
  require(tiny.write(folder));
  const std::string weights = anelane::join_path(folder, "model.safetensors");
  const std::string config = anelane::join_path(folder, "config.json");
  const std::string file = spoiled_file(flaw, tiny);
  if (file != anelane::safetensors_bytes(tiny.tensors)) {
    require(anelane::write_file_atomic(weights, file));
  } else if (flaw == "no-weights" || flaw == "no-config") {
    std::remove((flaw == "no-weights" ? weights : config).c_str());
  } else if (flaw == "config-syntax") {
    require(anelane::write_file_atomic(config, "{\"hidden_size\": 64,,}"));
  } else if (!flaw.empty() && change == kChanges.end()) {
    std::fprintf(stderr, "fixtures: no flaw '%s'\n", flaw.c_str());
    std::exit(1);
  }
}

void write_long(const char* folder) {
  require(anelane::write_tiny_checkpoint(
      folder, {.layers = 1, .width = LONG_DIM, .heads = 1, .ffn = 32, .ceiling = LONG_CEILING}));
}

size_t golden_count() {
  return golden().texts.size();
}
const char* golden_text(size_t index, size_t* bytes) {
  *bytes = golden().texts.at(index).size();
  return golden().texts[index].c_str();
}
int golden_is_c_string(size_t index) {
  return golden().texts.at(index).find('\0') == std::string::npos ? 1 : 0;
}
const int32_t* golden_ids(size_t index, size_t* count) {
  *count = golden().ids.at(index).size();
  return golden().ids[index].data();
}
const float* golden_vector(size_t index, size_t* dim) {
  *dim = golden().vectors.at(index).size();
  return golden().vectors[index].data();
}

}  // extern "C"
