// Entry points of the caller's own programs: the check of one, and a model of them in memory. The structs
// become a manifest and files (models/program_pack.h), so that there is one reader for both forms.
#include <map>

#include "abi/entry.h"
#include "abi/model_options.h"
#include "lane/load_operation.h"
#include "models/program_manifest.h"
#include "models/program_pack.h"
#include "worker/mil_report.h"

using namespace anelane;
using namespace anelane::abi;

namespace {

constexpr uint32_t kProgramV1 = offsetof(anelane_program, reserved);
constexpr uint64_t kMaxPack = limits::kMaxWeightFile;

std::span<const uint8_t> bytes_of(const void* data, uint64_t size) {
  return {static_cast<const uint8_t*>(data), static_cast<size_t>(size)};
}

// The structs as files: the manifest last, once it is known.
class Packer {
 public:
  Result<std::string> pack(const anelane_program& program);

 private:
  Status add_rung(const anelane_program_rung& rung, Json* rungs);
  Result<Json> add_layer(const anelane_layer& layer, const std::string& stem);
  Result<Json> connections(const anelane_layer& layer, const std::string& stem);
  Status add_file(const std::string& name, std::span<const uint8_t> bytes);

  std::vector<PackedFile> files_;
  // By place and size: what several layers share crosses, and is parsed, once.
  std::map<std::pair<const void*, uint64_t>, std::string> texts_, weights_;
  uint64_t total_ = 0;
};

Status Packer::add_file(const std::string& name, std::span<const uint8_t> bytes) {
  if (bytes.size() > kMaxPack - total_)
    return error(Code::kInvalidArgument, name + ": the program has more than " + std::to_string(kMaxPack) +
                                             " bytes; keep weights of that size in files")
        .with_limit(kMaxPack);
  total_ += bytes.size();
  files_.push_back({name, bytes});
  return {};
}

Result<Json> Packer::connections(const anelane_layer& layer, const std::string& stem) {
  if (layer.connect_count > 0 && layer.connect == nullptr) return null_argument((stem + ": connect").c_str());
  if (layer.connect_count > limits::kMaxPorts)
    return error(Code::kInvalidArgument, stem + ": connect_count is " + std::to_string(layer.connect_count))
        .with_limit(limits::kMaxPorts);
  Json connect = Json::object();
  for (uint32_t i = 0; i < layer.connect_count; ++i) {
    const anelane_connection& one = layer.connect[i];
    if (one.input == nullptr || one.output == nullptr) return null_argument((stem + ": connect").c_str());
    if (connect.find(one.input) != nullptr)
      return error(Code::kInvalidArgument,
                   stem + ": connect: input \"" + std::string(one.input).substr(0, 64) + "\" is named twice");
    connect.set(one.input, one.output);
  }
  return connect;
}

Result<Json> Packer::add_layer(const anelane_layer& layer, const std::string& stem) {
  if (layer.mil == nullptr) return null_argument((stem + ": mil").c_str());
  if (layer.weights == nullptr && layer.weight_bytes > 0) return null_argument((stem + ": weights").c_str());
  if (layer.reserved != 0) return error(Code::kInvalidArgument, stem + ": reserved must be 0");
  Json json = Json::object();
  const auto [text, fresh_text] = texts_.try_emplace({layer.mil, layer.mil_bytes}, stem + ".mil");
  if (fresh_text) ANELANE_TRY(add_file(text->second, bytes_of(layer.mil, layer.mil_bytes)));
  json.set("mil", text->second);
  if (layer.weights != nullptr) {
    const auto [known, fresh] = weights_.try_emplace({layer.weights, layer.weight_bytes}, stem + ".bin");
    if (fresh) ANELANE_TRY(add_file(known->second, bytes_of(layer.weights, layer.weight_bytes)));
    json.set("weights", known->second);
  }
  ANELANE_ASSIGN(Json connect, connections(layer, stem));
  return json.set("connect", std::move(connect));
}

Status Packer::add_rung(const anelane_program_rung& rung, Json* rungs) {
  const std::string name = std::to_string(rung.shape);
  if (rung.shape == 0 || rung.shape > kMaxProgramWidth)
    return error(Code::kInvalidArgument,
                 "rung " + name + ": a shape is a whole number from 1 to " + std::to_string(kMaxProgramWidth))
        .with_limit(kMaxProgramWidth);
  if (rung.layers == nullptr || rung.layer_count == 0 || rung.layer_count > limits::kMaxLayers)
    return error(Code::kInvalidArgument, "rung " + name + ": 1 to " + std::to_string(limits::kMaxLayers) +
                                             " layers are accepted, " + std::to_string(rung.layer_count) +
                                             " are given")
        .with_limit(limits::kMaxLayers);
  if (rungs->find(name) != nullptr) return error(Code::kInvalidArgument, "rung " + name + " is given twice");
  Json layers = Json::array();
  for (uint32_t i = 0; i < rung.layer_count; ++i) {
    ANELANE_ASSIGN(Json layer, add_layer(rung.layers[i], "rung_" + name + "_layer_" + std::to_string(i)));
    layers.push(std::move(layer));
  }
  rungs->set(name, std::move(layers));
  return {};
}

Result<std::string> Packer::pack(const anelane_program& program) {
  if (program.rungs == nullptr || program.rung_count == 0 || program.rung_count > limits::kMaxRungs)
    return error(Code::kInvalidArgument, "rung_count is " + std::to_string(program.rung_count) + ", 1 to " +
                                             std::to_string(limits::kMaxRungs) + " rungs are accepted")
        .with_limit(limits::kMaxRungs);
  for (const uint64_t r : program.reserved)
    if (r != 0) return error(Code::kInvalidArgument, "reserved members must be 0");
  Json rungs = Json::object();
  for (uint32_t i = 0; i < program.rung_count; ++i) ANELANE_TRY(add_rung(program.rungs[i], &rungs));
  const std::string manifest = Json::object().set("format", 1).set("rungs", std::move(rungs)).dump();
  ANELANE_TRY(add_file(kManifestName, bytes_of(manifest.data(), manifest.size())));
  return pack_files(files_);
}

}  // namespace

extern "C" {

ANELANE_API anelane_status anelane_model_load_program(anelane_lane handle, const anelane_program* program,
                                                      const anelane_model_options* options, uint64_t deadline,
                                                      anelane_model* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (program == nullptr) return null_argument("program");
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_struct(program, "program", kProgramV1));
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(std::shared_ptr<Lane> lane, find_lane(handle));
    ANELANE_ASSIGN(const ModelOptions wanted, read_model_options(options));
    if (wanted.progress != nullptr) ANELANE_TRY(lane->completions().ensure_thread());
    ANELANE_ASSIGN(std::string pack, Packer().pack(read_struct(program, anelane_program{})));
    const std::shared_ptr<LoadOperation> op = LoadOperation::make_packed(
        std::move(lane), std::make_shared<const std::string>(std::move(pack)), wanted, deadline);
    ANELANE_TRY(start_and_wait(op));
    *out = model_handle(*op->take());
    return {};
  });
}

ANELANE_API anelane_status anelane_mil_check(const char* path, const char* weights, char* buf, size_t cap,
                                             size_t* len, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (path == nullptr) return null_argument("path");
    if (buf == nullptr && cap > 0) return null_argument("buf");
    ANELANE_ASSIGN(const Json told, worker::mil_report(path, weights != nullptr ? weights : ""));
    give_text(told.dump(), buf, cap, len);
    return {};
  });
}

}  // extern "C"
