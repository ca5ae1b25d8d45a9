#include "bert_reference.h"

#include <bit>
#include <cmath>

#include "base/fp16.h"

namespace anelane {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // one for each token

class Reference {
 public:
  Reference(const TinyCheckpoint& checkpoint, std::string prefix)
      : checkpoint_(checkpoint),
        prefix_(std::move(prefix)),
        heads_(static_cast<size_t>(checkpoint.config.at("num_attention_heads").as_int())),
        act_(checkpoint.config.at("hidden_act").as_string()),
        eps_(checkpoint.config.at("layer_norm_eps").as_double()) {}

  Rows hidden(std::span<const int32_t> ids) {
    const Row words = values("embeddings.word_embeddings.weight");
    const Row positions = values("embeddings.position_embeddings.weight");
    const Row types = values("embeddings.token_type_embeddings.weight");
    const size_t width = static_cast<size_t>(checkpoint_.config.at("hidden_size").as_int());
    Rows x(ids.size(), Row(width));
    for (size_t t = 0; t < ids.size(); ++t)
      for (size_t c = 0; c < width; ++c)
        x[t][c] = words[static_cast<size_t>(ids[t]) * width + c] + positions[t * width + c] + types[c];
    norm(&x, "embeddings.LayerNorm");
    for (int64_t i = 0; i < checkpoint_.config.at("num_hidden_layers").as_int(); ++i)
      layer(&x, "encoder.layer." + std::to_string(i));
    return x;
  }

 private:
  Row values(const std::string& name) {
    for (const TinyTensor& t : checkpoint_.tensors) {
      if (t.name != prefix_ + name) continue;
      Row out;
      const size_t size = t.dtype == "F32" ? 4 : 2;
      for (size_t at = 0; at < t.bytes.size(); at += size) {
        uint32_t bits = 0;
        for (size_t i = 0; i < size; ++i) bits |= static_cast<uint32_t>(t.bytes[at + i]) << (8 * i);
        if (t.dtype == "BF16") bits <<= 16;
        out.push_back(t.dtype == "F16" ? static_cast<double>(half_to_float(static_cast<Half>(bits)))
                                       : static_cast<double>(std::bit_cast<float>(bits)));
      }
      return out;
    }
    return {};
  }

  Rows linear(const Rows& x, const std::string& name) {
    const Row weight = values(name + ".weight"), bias = values(name + ".bias");
    Rows out(x.size(), bias);
    for (size_t t = 0; t < x.size(); ++t)
      for (size_t o = 0; o < bias.size(); ++o)
        for (size_t i = 0; i < x[t].size(); ++i) out[t][o] += weight[o * x[t].size() + i] * x[t][i];
    return out;
  }

  void norm(Rows* x, const std::string& name) {
    const Row weight = values(name + ".weight"), bias = values(name + ".bias");
    for (Row& row : *x) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (size_t c = 0; c < row.size(); ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + eps_) * weight[c] + bias[c];
    }
  }

  Rows attention(const Rows& x, const std::string& name) {
    const Rows q = linear(x, name + ".self.query"), k = linear(x, name + ".self.key"),
               v = linear(x, name + ".self.value");
    const size_t width = x[0].size(), d = width / heads_;
    Rows out(x.size(), Row(width, 0));
    for (size_t h = 0; h < heads_; ++h) {
      for (size_t t = 0; t < x.size(); ++t) {
        Row weights(x.size());
        double sum = 0;
        for (size_t s = 0; s < x.size(); ++s) {
          double score = 0;
          for (size_t i = h * d; i < (h + 1) * d; ++i) score += q[t][i] * k[s][i];
          weights[s] = std::exp(score / std::sqrt(static_cast<double>(d)));
          sum += weights[s];
        }
        for (size_t s = 0; s < x.size(); ++s)
          for (size_t i = h * d; i < (h + 1) * d; ++i) out[t][i] += weights[s] / sum * v[s][i];
      }
    }
    return linear(out, name + ".output.dense");
  }

  double activate(double v) const {
    if (act_ == "relu") return v > 0 ? v : 0;
    if (act_ == "silu") return v / (1 + std::exp(-v));
    if (act_ == "gelu_new")
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  }

  static void add(Rows* x, const Rows& y) {
    for (size_t t = 0; t < x->size(); ++t)
      for (size_t c = 0; c < y[t].size(); ++c) (*x)[t][c] += y[t][c];
  }

  void layer(Rows* x, const std::string& name) {
    add(x, attention(*x, name + ".attention"));
    norm(x, name + ".attention.output.LayerNorm");
    Rows wide = linear(*x, name + ".intermediate.dense");
    for (Row& row : wide)
      for (double& v : row) v = activate(v);
    add(x, linear(wide, name + ".output.dense"));
    norm(x, name + ".output.LayerNorm");
  }

  const TinyCheckpoint& checkpoint_;
  const std::string prefix_;
  const size_t heads_;
  const std::string act_;
  const double eps_;
};

}  // namespace

std::vector<float> reference_vector(const TinyCheckpoint& checkpoint, const std::string& prefix,
                                    std::span<const int32_t> ids, const std::string& pooling,
                                    bool normalize) {
  const Rows x = Reference(checkpoint, prefix).hidden(ids);
  Row sum = pooling == "cls" ? x.front() : x.back();
  if (pooling == "mean") {
    for (size_t t = 0; t + 1 < x.size(); ++t)
      for (size_t c = 0; c < sum.size(); ++c) sum[c] += x[t][c];
    for (double& v : sum) v /= static_cast<double>(x.size());
  }
  double squares = 0;
  for (const double v : sum) squares += v * v;
  std::vector<float> out;
  for (const double v : sum) out.push_back(static_cast<float>(normalize ? v / std::sqrt(squares) : v));
  return out;
}

}  // namespace anelane
