#include "model_runner.h"

#include <cmath>

namespace anelane {

Result<ModelRunner::Layers*> ModelRunner::layers_of(uint32_t rung) {
  Layers& layers = rungs_[rung];
  while (layers.size() < model_.summary().layers) {
    const Program program = model_.layer_program(rung, static_cast<uint32_t>(layers.size()));
    const std::string id = engine_.identify(program);
    if (!engine_.probe(id)) ANELANE_TRY(engine_.compile(id, program));
    ANELANE_ASSIGN(std::unique_ptr<LoadedProgram> loaded, engine_.load(id));
    if (loaded->inputs().size() != 2 || loaded->inputs()[0].name != "a00_x" ||
        loaded->inputs()[1].name != "a01_mask" || loaded->outputs().size() != 1)
      return error(Code::kInternal, "the ports of a layer are not those of the seam");
    layers.push_back(std::move(loaded));
  }
  return &layers;
}

Result<std::vector<float>> ModelRunner::embed(std::span<const int32_t> ids) {
  const ModelSummary& summary = model_.summary();
  const uint32_t rung = rung_for(summary.ladder, ids.size());
  if (rung == 0) return model_.check_tokens(ids);
  ANELANE_ASSIGN(Layers * layers, layers_of(rung));
  std::vector<Half> x(summary.width * rung), y(x.size()), mask(rung);
  ANELANE_TRY(model_.embed_tokens(ids, rung, x.data(), mask.data()));
  for (const std::unique_ptr<LoadedProgram>& layer : *layers) {
    const Buffer in[] = {{x.data(), x.size() * sizeof(Half)}, {mask.data(), mask.size() * sizeof(Half)}};
    const Buffer out[] = {{y.data(), y.size() * sizeof(Half)}};
    ANELANE_TRY(layer->run(in, out));
    std::swap(x, y);
  }
  std::vector<float> vector(summary.dim);
  ANELANE_TRY(model_.finish(x.data(), rung, static_cast<uint32_t>(ids.size()), vector));
  return vector;
}

size_t ModelRunner::programs() const {
  size_t count = 0;
  for (const auto& [rung, layers] : rungs_) count += layers.size();
  return count;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace anelane
