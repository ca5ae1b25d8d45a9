// The CPU stages run in fp32: word + position + token type 0, then the embedding's norm (sums in double),
// rounded to fp16 once. Weights stay in the mapping; a layer's are converted when its program is written.
// After open every tensor is known to be there, to have its shape and to fit fp16, and one layer has been
// written at the widest rung, so that nothing can fail later. All members are const over immutable state: any
// thread may call them.
#include "models/bert_model.h"

#include <algorithm>
#include <cmath>

#include "models/bert_layer.h"
#include "models/checkpoint_digest.h"
#include "models/folder_name.h"

namespace anelane {
namespace {

constexpr const char* kConversion = "bert-1";  // count it up with every change of the programs' arithmetic
constexpr Half kMaskPadding = 0xf0e2;          // -10000 as fp16
constexpr uint32_t kTokenBlock = 32;           // tokens transposed at a time: one cache line of a row

const char* mode_name(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kMean:
      return "mean";
    case PoolingMode::kCls:
      return "cls";
    case PoolingMode::kLast:
      return "last";
  }
  return "";
}

class BertModel final : public Model {
 public:
  explicit BertModel(BertCheckpoint checkpoint)
      : checkpoint_(std::move(checkpoint)),
        norm_weight_(read_all_floats(checkpoint_.tensors.norm.weight)),
        norm_bias_(read_all_floats(checkpoint_.tensors.norm.bias)),
        token_type_(config().width) {
    read_floats(checkpoint_.tensors.token_types, 0, token_type_);
  }

  const ModelSummary& summary() const override { return checkpoint_.summary; }

  Program layer_program(uint32_t rung, uint32_t layer) const override {
    if (layer >= config().layers) return {};
    Result<Program> program =
        write_bert_layer(config(), checkpoint_.tensors.layers[layer], rung, checkpoint_.dialect);
    return program.ok() ? *std::move(program) : Program{};
  }

  Status check_tokens(std::span<const int32_t> ids) const override {
    if (ids.empty())
      return error(Code::kInvalidSequence, "the sequence has no tokens: even \"\" has its special tokens");
    if (ids.size() > summary().ceiling)
      return error(Code::kSequenceTooLong, std::to_string(ids.size()) + " tokens, the model takes at most " +
                                               std::to_string(summary().ceiling))
          .with_limit(summary().ceiling);
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= config().vocab)
        return error(Code::kInvalidSequence, "token " + std::to_string(i) + " has id " +
                                                 std::to_string(ids[i]) + ", the vocabulary has ids 0 to " +
                                                 std::to_string(config().vocab - 1))
            .with_limit(config().vocab);
    return {};
  }

  Status embed_tokens(std::span<const int32_t> ids, uint32_t rung, Half* x, Half* mask) const override {
    ANELANE_TRY(check_tokens(ids));
    if (rung < ids.size() || rung % kTokenBlock != 0)
      return error(Code::kInvalidArgument,
                   "rung " + std::to_string(rung) + " cannot hold " + std::to_string(ids.size()) + " tokens");
    const size_t width = config().width;
    std::vector<float> block(kTokenBlock * width);
    for (uint32_t first = 0; first < rung; first += kTokenBlock) {
      for (uint32_t t = 0; t < kTokenBlock; ++t) {
        const std::span<float> row(block.data() + t * width, width);
        if (first + t < ids.size())
          embed_token(ids[first + t], first + t, row);
        else
          std::fill(row.begin(), row.end(), 0.0f);
      }
      for (size_t c = 0; c < width; ++c)
        for (uint32_t t = 0; t < kTokenBlock; ++t)
          x[c * rung + first + t] = float_to_half(block[t * width + c]);
    }
    for (uint32_t t = 0; t < rung; ++t) mask[t] = t < ids.size() ? Half{0} : kMaskPadding;
    return {};
  }

  Status finish(const Half* hidden, uint32_t rung, uint32_t tokens, std::span<float> out) const override {
    if (out.size() != summary().dim || tokens == 0 || tokens > rung)
      return error(Code::kInvalidArgument, "finish: " + std::to_string(tokens) + " tokens of rung " +
                                               std::to_string(rung) + " into " + std::to_string(out.size()) +
                                               " floats; the model has " + std::to_string(summary().dim));
    return checkpoint_.pooling.apply(hidden, rung, tokens, out);
  }

 private:
  const BertConfig& config() const { return checkpoint_.config; }

  void embed_token(int32_t id, uint32_t position, std::span<float> row) const {
    const uint64_t width = config().width;
    std::vector<float> other(width);
    read_floats(checkpoint_.tensors.words, static_cast<uint64_t>(id) * width, row);
    read_floats(checkpoint_.tensors.positions, position * width, other);
    double sum = 0;
    for (size_t c = 0; c < width; ++c) {
      row[c] += other[c] + token_type_[c];
      sum += static_cast<double>(row[c]);
    }
    const double mean = sum / static_cast<double>(width);
    double squares = 0;
    for (const float v : row) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double scale =
        1 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(config().norm_eps));
    for (size_t c = 0; c < width; ++c)
      row[c] =
          static_cast<float>((static_cast<double>(row[c]) - mean) * scale) * norm_weight_[c] + norm_bias_[c];
  }

  const BertCheckpoint checkpoint_;
  std::vector<float> norm_weight_, norm_bias_;
  std::vector<float> token_type_;  // of type 0, the only one here
};

Result<ModelSummary> summarize(const std::string& folder, const BertConfig& config, const Safetensors& file,
                               const ModelOpenOptions& options) {
  ModelSummary summary;
  summary.kind = ModelKind::kEmbedder;
  summary.architecture = config.architecture;
  summary.name = options.name.empty() ? folder_name(folder) : options.name;
  summary.dim = config.width;
  summary.width = config.width;
  summary.ceiling = config.ceiling();
  summary.layers = config.layers;
  summary.vocab = config.vocab;
  summary.conversion = kConversion;
  ANELANE_ASSIGN(summary.ladder, make_ladder(summary.ceiling, options.rungs));
  // The mapping, and what one layer needs while its program is written: fp32 values, their fp16 copy, the
  // blob.
  const uint64_t width = config.width;
  const uint64_t largest = std::max<uint64_t>(4 * width * width, 2 * width * config.ffn);
  summary.host_bytes = file.bytes().size() + 8 * largest;
  return summary;
}

}  // namespace

Result<BertCheckpoint> read_bert_checkpoint(const std::string& folder, const JsonFields& config_file,
                                            const ModelOpenOptions& options) {
  BertCheckpoint checkpoint;
  checkpoint.dialect = options.dialect;
  ANELANE_ASSIGN(checkpoint.config, parse_bert_config(config_file));
  ANELANE_ASSIGN(checkpoint.pooling, read_pooling(folder, checkpoint.config.width));
  ANELANE_ASSIGN(checkpoint.file, Safetensors::open(join_path(folder, "model.safetensors")));
  ANELANE_ASSIGN(checkpoint.tensors, find_bert_tensors(checkpoint.file, checkpoint.config));
  ANELANE_ASSIGN(checkpoint.summary, summarize(folder, checkpoint.config, checkpoint.file, options));
  return checkpoint;
}

Result<std::shared_ptr<const Model>> open_bert_model(const std::string& folder, BertCheckpoint checkpoint) {
  ANELANE_TRY(check_bert_values(checkpoint.file, checkpoint.tensors));
  const std::string pooling =
      std::string(mode_name(checkpoint.pooling.mode)) + (checkpoint.pooling.normalize ? " normalized" : "");
  ANELANE_ASSIGN(checkpoint.summary.checkpoint_digest,
                 checkpoint_digest(folder, pooling, checkpoint.file.bytes()));
  Result<Program> trial = write_bert_layer(checkpoint.config, checkpoint.tensors.layers[0],
                                           checkpoint.summary.ceiling, checkpoint.dialect);
  if (!trial.ok()) return std::move(trial).status().in(folder + ": writing layer 0");
  return std::shared_ptr<const Model>(std::make_shared<const BertModel>(std::move(checkpoint)));
}

}  // namespace anelane
