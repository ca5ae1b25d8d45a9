// What the engine's answer is compared with in `anelane selftest`. It shares nothing with the library: no
// layout tricks, no masks, no padding, no fp16; one loop for each line of the definition (Devlin et al.,
// BERT: post-norm encoder, GELU by the error function). Slow, and fast enough for 64 numbers. Pure functions.
#include "reference_encoder.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace anelane_tool {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

class Encoder {
 public:
  explicit Encoder(const TinyModel& model) : model_(model) {}

  Rows embed(const std::vector<int32_t>& ids) const {
    const auto& words = tensor("embeddings.word_embeddings.weight");
    const auto& positions = tensor("embeddings.position_embeddings.weight");
    const auto& kinds = tensor("embeddings.token_type_embeddings.weight");
    Rows rows(ids.size(), Row(TinyModel::kWidth));
    for (size_t i = 0; i < ids.size(); ++i)
      for (size_t k = 0; k < TinyModel::kWidth; ++k)
        rows[i][k] = double{words[static_cast<size_t>(ids[i]) * TinyModel::kWidth + k]} +
                     positions[i * TinyModel::kWidth + k] + kinds[k];
    return norm(rows, "embeddings.LayerNorm");
  }

  Rows layer(const Rows& in, uint32_t index) const {
    const std::string name = "encoder.layer." + std::to_string(index) + ".";
    Rows mixed = linear(attend(in, name), name + "attention.output.dense");
    add(&mixed, in);
    mixed = norm(mixed, name + "attention.output.LayerNorm");
    Rows inner = linear(mixed, name + "intermediate.dense");
    for (Row& row : inner)
      for (double& x : row) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    Rows out = linear(inner, name + "output.dense");
    add(&out, mixed);
    return norm(out, name + "output.LayerNorm");
  }

 private:
  const std::vector<float>& tensor(const std::string& name) const { return model_.tensors.at(name).values; }

  static void add(Rows* to, const Rows& what) {
    for (size_t i = 0; i < to->size(); ++i)
      for (size_t k = 0; k < (*to)[i].size(); ++k) (*to)[i][k] += what[i][k];
  }

  Rows linear(const Rows& in, const std::string& name) const {
    const auto& weight = tensor(name + ".weight");
    const auto& bias = tensor(name + ".bias");
    Rows out(in.size(), Row(bias.size()));
    for (size_t i = 0; i < in.size(); ++i)
      for (size_t o = 0; o < bias.size(); ++o) {
        double sum = bias[o];
        for (size_t k = 0; k < in[i].size(); ++k) sum += in[i][k] * weight[o * in[i].size() + k];
        out[i][o] = sum;
      }
    return out;
  }

  Rows norm(const Rows& in, const std::string& name) const {
    const auto& weight = tensor(name + ".weight");
    const auto& bias = tensor(name + ".bias");
    Rows out = in;
    for (Row& row : out) {
      double mean = 0;
      for (const double x : row) mean += x / static_cast<double>(row.size());
      double variance = 0;
      for (const double x : row) variance += (x - mean) * (x - mean) / static_cast<double>(row.size());
      for (size_t k = 0; k < row.size(); ++k)
        row[k] = (row[k] - mean) / std::sqrt(variance + TinyModel::kEpsilon) * weight[k] + bias[k];
    }
    return out;
  }

  Rows attend(const Rows& in, const std::string& name) const {
    const Rows query = linear(in, name + "attention.self.query");
    const Rows key = linear(in, name + "attention.self.key");
    const Rows value = linear(in, name + "attention.self.value");
    constexpr size_t kHead = TinyModel::kWidth / TinyModel::kHeads;
    Rows out(in.size(), Row(TinyModel::kWidth, 0));
    for (size_t begin = 0; begin < TinyModel::kWidth; begin += kHead)
      for (size_t i = 0; i < in.size(); ++i) {
        Row share(in.size(), 0);
        for (size_t j = 0; j < in.size(); ++j)
          for (size_t k = begin; k < begin + kHead; ++k)
            share[j] += query[i][k] * key[j][k] / std::sqrt(static_cast<double>(kHead));
        const double most = *std::max_element(share.begin(), share.end());
        double total = 0;
        for (double& x : share) total += x = std::exp(x - most);
        for (size_t j = 0; j < in.size(); ++j)
          for (size_t k = begin; k < begin + kHead; ++k) out[i][k] += share[j] / total * value[j][k];
      }
    return out;
  }

  const TinyModel& model_;
};

}  // namespace

std::vector<double> reference_vector(const TinyModel& model, const std::vector<int32_t>& ids) {
  const Encoder encoder(model);
  Rows rows = encoder.embed(ids);
  for (uint32_t i = 0; i < TinyModel::kLayers; ++i) rows = encoder.layer(rows, i);
  Row mean(TinyModel::kWidth, 0);
  for (const Row& row : rows)
    for (size_t k = 0; k < mean.size(); ++k) mean[k] += row[k];
  double squares = 0;
  for (const double x : mean) squares += x * x;
  for (double& x : mean) x /= std::sqrt(squares);
  return mean;
}

}  // namespace anelane_tool
