// sentence-transformers describes a model as a chain of modules: Transformer, Pooling and perhaps Normalize.
// Any other module (Dense, …) would change the vectors, so it is MODEL_UNSUPPORTED, not skipped. Sums run in
// double over the tokens in their order: the same bits on every machine.
#include "models/pooling.h"

#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/json_fields.h"
#include "base/limits.h"

namespace anelane {
namespace {

struct ModeField {
  const char* field;
  bool supported;
  PoolingMode mode;
};
constexpr ModeField kModeFields[] = {{"pooling_mode_mean_tokens", true, PoolingMode::kMean},
                                     {"pooling_mode_cls_token", true, PoolingMode::kCls},
                                     {"pooling_mode_lasttoken", true, PoolingMode::kLast},
                                     {"pooling_mode_max_tokens", false, {}},
                                     {"pooling_mode_mean_sqrt_len_tokens", false, {}},
                                     {"pooling_mode_weightedmean_tokens", false, {}}};

Status unsupported(const std::string& where, const std::string& found, const char* supported) {
  return error(Code::kModelUnsupported, where + ": " + found + " is not supported; supported: " + supported);
}

Result<PoolingMode> read_mode(const std::string& path, uint32_t width) {
  ANELANE_ASSIGN(const JsonFields file, JsonFields::read(path, limits::kMaxConfigBytes));
  ANELANE_ASSIGN(const int64_t dimension, file.integer("word_embedding_dimension", 1, INT32_MAX, width));
  if (dimension != width)
    return file.wrong("word_embedding_dimension", "the hidden_size of config.json, " + std::to_string(width));
  const ModeField* chosen = nullptr;
  for (const ModeField& mode : kModeFields) {
    ANELANE_ASSIGN(const bool on, file.boolean(mode.field, false));
    if (!on) continue;
    if (!mode.supported)
      return unsupported(path, mode.field,
                         "pooling_mode_mean_tokens, pooling_mode_cls_token, pooling_mode_lasttoken");
    if (chosen != nullptr)
      return unsupported(path, std::string(chosen->field) + " with " + mode.field, "one mode at a time");
    chosen = &mode;
  }
  if (chosen == nullptr)
    return error(Code::kModelInvalid, path + ": expected one pooling mode to be true, found none");
  return chosen->mode;
}

// Below the folder and nowhere else: the path comes from a file.
Result<std::string> module_folder(const JsonFields& module, const std::string& folder) {
  ANELANE_ASSIGN(const std::string path, module.string("path"));
  for (const auto& part : std::filesystem::path(path))
    if (part == ".." || part.is_absolute()) return module.wrong("path", "a folder within the checkpoint");
  return join_path(folder, path);
}

Status read_module(const JsonFields& module, const std::string& folder, uint32_t width, bool* pooled,
                   Pooling* pooling) {
  ANELANE_ASSIGN(const std::string type, module.string("type"));
  const std::string kind = type.substr(type.rfind('.') + 1);
  if (kind == "Transformer") return {};
  if (kind == "Pooling") {
    ANELANE_ASSIGN(const std::string at, module_folder(module, folder));
    ANELANE_ASSIGN(pooling->mode, read_mode(join_path(at, "config.json"), width));
    *pooled = true;
    return {};
  }
  if (kind == "Normalize") {
    pooling->normalize = true;
    return {};
  }
  return unsupported(module.where(), "module " + describe(Json(type)), "Transformer, Pooling, Normalize");
}

void normalize(std::span<float> v) {
  double squares = 0;
  for (const float x : v) squares += static_cast<double>(x) * static_cast<double>(x);
  const double norm =
      std::max(std::sqrt(squares), 1e-12);  // the floor of sentence-transformers: no division by 0
  for (float& x : v) x = static_cast<float>(static_cast<double>(x) / norm);
}

}  // namespace

Result<Pooling> read_pooling(const std::string& folder, uint32_t width) {
  Pooling pooling;
  const std::string path = join_path(folder, "modules.json");
  if (!is_regular_file(path)) return pooling;
  ANELANE_ASSIGN(const std::string text, read_file(path, limits::kMaxConfigBytes));
  Result<Json> json = parse_json(text, path);
  if (!json.ok()) return error(Code::kModelInvalid, json.status().message());
  if (!json->is_array())
    return error(Code::kModelInvalid, path + ": expected an array of modules, found " + describe(*json));
  bool pooled = false;
  for (size_t i = 0; i < json->as_array().size(); ++i) {
    const Json& module = json->as_array()[i];
    const std::string where = path + ": module " + std::to_string(i);
    if (!module.is_object())
      return error(Code::kModelInvalid, where + ": expected an object, found " + describe(module));
    ANELANE_TRY(read_module(JsonFields(where, module), folder, width, &pooled, &pooling));
  }
  if (!pooled)
    return error(Code::kModelInvalid,
                 path + ": expected a Pooling module, found none: these are not sentence vectors");
  return pooling;
}

Status Pooling::apply(const Half* hidden, uint32_t rung, uint32_t tokens, std::span<float> out) const {
  const uint32_t first = mode == PoolingMode::kLast ? tokens - 1 : 0;
  const uint32_t end = mode == PoolingMode::kCls ? 1 : tokens;
  for (size_t c = 0; c < out.size(); ++c) {
    const Half* row = hidden + c * rung;
    double sum = 0;
    for (uint32_t t = first; t < end; ++t) sum += static_cast<double>(half_to_float(row[t]));
    out[c] = static_cast<float>(sum / (end - first));
    if (!std::isfinite(out[c]))
      return error(Code::kInternal, "the model's output is not finite in channel " + std::to_string(c) +
                                        ": its activations do not fit fp16 for this text");
  }
  if (normalize) anelane::normalize(out);
  return {};
}

}  // namespace anelane
