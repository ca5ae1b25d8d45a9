// The layer in the form that is proven on the hardware: channels first [1, C, 1, S], linear maps as 1×1
// convolutions, attention per head in tiles of 128 queries, softmax over axis 1 between transposes, an
// additive mask of -10000 instead of -inf, norms spelled out. Only the channel and query axes are sliced: a
// slice of the last axis that does not start at 0 saturates on older engines (numerics N46). 1/√d is folded
// into the query weights before they are rounded, so the scores cost no extra rounding.
//
// fp16 guards of the norm (numerics N15, N17). With c = x − mean and m = max|c|:
//   c / √(mean c² + ε) = y / √(mean y² + ε/m²)  where y = c/m,
// so squares are of values up to 1 and cannot overflow; ε/m² is formed as (√ε/m)², since 1e-12 is no fp16
// number but its root is. m is at least 2⁻¹⁴: a column of equal values (padding) gives 0, as it does without
// rounding.
#include "models/bert_layer.h"

#include <algorithm>
#include <cmath>

#include "ane_direct/mil_writer.h"

namespace anelane {
namespace {

constexpr int64_t kQueryTile = 128;
constexpr size_t kConcatMax = 8;  // more operands make the compiler slow
constexpr float kSmallestSpread = 0x1p-14f;
constexpr float kSmallestRootEps =
    0x1p-20f;  // still an fp16 number; keeps 0/0 out of a column of equal values

Shape extents(std::initializer_list<int64_t> dims) {
  Shape shape;
  for (const int64_t dim : dims) shape.push_back(static_cast<uint64_t>(dim));
  return shape;
}

class LayerWriter {
 public:
  using Value = MilValue;
  LayerWriter(const BertConfig& config, const BertLayerTensors& tensors, uint32_t tokens, MilDialect dialect)
      : config_(config),
        tensors_(tensors),
        width_(config.width),
        heads_(config.heads),
        head_width_(config.head_width()),
        tokens_(tokens),
        mil_(dialect) {}

  Result<Program> write() && {
    const Value x = mil_.input("a00_x", extents({1, width_, 1, tokens_}));
    const Value mask = mil_.input("a01_mask", extents({1, 1, 1, tokens_}));
    const Value attended = linear(attention(x, mask), tensors_.attention_output);
    const Value middle = norm(mil_.add(attended, x), tensors_.attention_norm);
    const Value wide = activation(linear(middle, tensors_.intermediate));
    const Value y = norm(mil_.add(linear(wide, tensors_.output), middle), tensors_.output_norm);
    mil_.output("z00_y", y);
    return std::move(mil_).finish();
  }

 private:
  Value convolve(Value x, std::span<const float> weights, std::span<const float> bias) {
    const int64_t outputs = static_cast<int64_t>(bias.size());
    const int64_t inputs = static_cast<int64_t>(weights.size() / bias.size());
    const Value w = mil_.weight(extents({outputs, inputs, 1, 1}), weights);
    return mil_.conv(x, w, {.bias = mil_.weight(extents({outputs}), bias)});
  }

  Value linear(Value x, const LinearTensors& tensors) {
    return convolve(x, read_all_floats(tensors.weight), read_all_floats(tensors.bias));
  }

  // Query, key and value in one convolution: [1, 3C, 1, S].
  Value project(Value x) {
    std::vector<float> weights, bias;
    const auto append = [&](const LinearTensors& part, float scale) {
      for (const float w : read_all_floats(part.weight)) weights.push_back(w * scale);
      for (const float b : read_all_floats(part.bias)) bias.push_back(b * scale);
    };
    append(tensors_.query, static_cast<float>(1 / std::sqrt(static_cast<double>(head_width_))));
    append(tensors_.key, 1);
    append(tensors_.value, 1);
    return convolve(x, weights, bias);
  }

  // Channels first … first + C as [1, heads, S, head width].
  Value split_heads(Value projected, int64_t first) {
    const Value part = mil_.slice_by_size(projected, {0, first, 0, 0}, {1, width_, 1, tokens_});
    return mil_.transpose(mil_.reshape(part, {1, heads_, head_width_, tokens_}), {0, 1, 3, 2});
  }

  Value attention(Value x, Value mask) {
    const Value projected = project(x);
    const Value query = split_heads(projected, 0);
    const Value key = split_heads(projected, width_);
    const Value value = split_heads(projected, 2 * width_);
    std::vector<Value> tiles;
    for (int64_t first = 0; first < tokens_; first += kQueryTile) {
      const int64_t count = std::min(kQueryTile, tokens_ - first);
      const Value tile = count == tokens_
                             ? query
                             : mil_.slice_by_size(query, {0, 0, first, 0}, {1, heads_, count, head_width_});
      const Value scores = mil_.add(mil_.matmul(tile, key, false, true), mask);  // [1, heads, count, S]
      const Value weights = mil_.softmax(mil_.transpose(scores, {0, 3, 1, 2}), 1);
      tiles.push_back(mil_.matmul(mil_.transpose(weights, {0, 2, 3, 1}), value));
    }
    const Value joined = concat_tiles(std::move(tiles));  // [1, heads, S, head width]
    return mil_.reshape(mil_.transpose(joined, {0, 1, 3, 2}), {1, width_, 1, tokens_});
  }

  Value concat_tiles(std::vector<Value> tiles) {
    while (tiles.size() > 1) {
      std::vector<Value> joined;
      for (size_t i = 0; i < tiles.size(); i += kConcatMax)
        joined.push_back(mil_.concat(std::span(tiles).subspan(i, std::min(kConcatMax, tiles.size() - i)), 2));
      tiles = std::move(joined);
    }
    return tiles[0];
  }

  Value norm(Value x, const NormTensors& tensors) {
    const float root_eps = std::max(std::sqrt(config_.norm_eps), kSmallestRootEps);
    const Value centred = mil_.sub(x, mil_.reduce_mean(x, {1}));
    const Value spread = mil_.maximum(mil_.reduce_max(mil_.abs(centred), {1}), kSmallestSpread);
    const Value y = mil_.real_div(centred, spread);
    const Value eps = mil_.real_div(mil_.scalar(root_eps), spread);
    const Value variance = mil_.add(mil_.reduce_mean(mil_.mul(y, y), {1}), mil_.mul(eps, eps));
    // pow, not rsqrt: the latter is refused behind a reduction by some compilers.
    const Value unit = mil_.mul(y, mil_.pow(variance, -0.5f));
    const Value gamma = mil_.weight(extents({1, width_, 1, 1}), read_all_floats(tensors.weight));
    const Value beta = mil_.weight(extents({1, width_, 1, 1}), read_all_floats(tensors.bias));
    return mil_.add(mil_.mul(unit, gamma), beta);
  }

  Value activation(Value x) {
    switch (config_.activation) {
      case Activation::kGelu:
        return mil_.gelu(x, "EXACT");
      case Activation::kGeluTanh:
        return mil_.gelu(x, "TANH_APPROXIMATION");
      case Activation::kRelu:
        return mil_.relu(x);
      case Activation::kSilu:
        return mil_.silu(x);
    }
    return {};
  }

  const BertConfig& config_;
  const BertLayerTensors& tensors_;
  const int64_t width_, heads_, head_width_, tokens_;
  MilWriter mil_;
};

}  // namespace

Result<Program> write_bert_layer(const BertConfig& config, const BertLayerTensors& tensors, uint32_t tokens,
                                 MilDialect dialect) {
  return LayerWriter(config, tensors, tokens, dialect).write();
}

}  // namespace anelane
