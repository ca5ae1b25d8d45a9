// Runs a model through an engine in this process, without lane or worker: for tests of the arithmetic.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ane_direct/engine.h"
#include "models/model.h"

namespace anelane {

class ModelRunner {
 public:
  ModelRunner(Engine& engine, const Model& model) : engine_(engine), model_(model) {}
  // The vector of one sequence at the smallest rung that holds it. Programs of a rung are compiled once.
  Result<std::vector<float>> embed(std::span<const int32_t> ids);
  // Programs loaded by now.
  size_t programs() const;

 private:
  using Layers = std::vector<std::unique_ptr<LoadedProgram>>;
  Result<Layers*> layers_of(uint32_t rung);
  Engine& engine_;
  const Model& model_;
  std::map<uint32_t, Layers> rungs_;
};

double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace anelane
