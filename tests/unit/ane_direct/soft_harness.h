// Shared by the soft engine's tests: temp folders, engines, running a program on floats.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ane_direct/mil_writer.h"
#include "ane_direct/soft/soft_engine.h"

namespace anelane {

// A fresh folder, removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

SoftEngineOptions test_options(const TempFolder& folder);
// Compiles and loads; fails the test otherwise (nullptr then).
std::unique_ptr<LoadedProgram> load_fresh(Engine& engine, const Program& program);

// Dense tensors in the order of the ports; values pass through fp16.
using Tensors = std::vector<std::vector<float>>;
Tensors run_dense(LoadedProgram& program, const Tensors& inputs);
std::vector<std::vector<Half>> run_bits(LoadedProgram& program, const std::vector<std::vector<Half>>& inputs);

// One program, written by `build` from inputs of these shapes (named a, b, …), run once.
using Build = std::function<MilValue(MilWriter&, const std::vector<MilValue>&)>;
std::vector<float> run_once(const std::vector<Shape>& shapes, const Tensors& inputs, const Build& build,
                            const std::string& numerics = "fast");

// Reproducible values of fp16, uniform in ±scale.
std::vector<float> random_values(uint32_t seed, size_t count, float scale = 1);
float as_half(float value);

// One transformer layer in the engine's layout and its weights, for tests and measurements.
struct LayerSize {
  uint64_t channels = 384, ffn = 1536, heads = 12, tokens = 128;
};
struct LayerWeights {
  std::vector<float> qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias, gamma1, beta1, gamma2, beta2;
};
LayerWeights random_layer(const LayerSize& size, uint32_t seed);
Result<Program> write_layer(const LayerSize& size, const LayerWeights& weights);
// The same layer in double precision, straight from its definition. x is [channels][tokens], mask [tokens].
std::vector<double> reference_layer(const LayerSize& size, const LayerWeights& weights,
                                    const std::vector<float>& x, const std::vector<float>& mask);

}  // namespace anelane
