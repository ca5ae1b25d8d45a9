// The layer's reference is written from the definition of a post-norm transformer layer, in plain loops and
// double precision, and shares nothing with the engine but the weights.
#include "soft_harness.h"

#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ane_direct/content_id.h"
#include "base/file.h"

namespace anelane {

TempFolder::TempFolder() {
  std::string name = ::testing::TempDir() + "anelane-test-XXXXXX";
  const char* made = ::mkdtemp(name.data());
  EXPECT_NE(made, nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  (void)remove_tree(path_);
}

SoftEngineOptions test_options(const TempFolder& folder) {
  SoftEngineOptions options;
  options.cache_dir = folder.path();
  options.temp_dir = folder.path();
  options.signing_identifier = "anelane-worker";
  options.os_build = "test-1";
  options.threads = 2;
  return options;
}

std::unique_ptr<LoadedProgram> load_fresh(Engine& engine, const Program& program) {
  const std::string id = engine.identify(program);
  const Status compiled = engine.compile(id, program);
  EXPECT_TRUE(compiled.ok()) << compiled.message();
  if (!compiled.ok()) return nullptr;
  auto loaded = engine.load(id);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *std::move(loaded) : nullptr;
}

std::vector<std::vector<Half>> run_bits(LoadedProgram& program,
                                        const std::vector<std::vector<Half>>& inputs) {
  const auto rows = [](const Port& port) { return port.bytes / ((port.dims.back() * 2 + 63) / 64 * 64); };
  const auto padded = [](const Port& port) { return (port.dims.back() * 2 + 63) / 64 * 64; };
  std::vector<std::vector<uint8_t>> memory;
  std::vector<Buffer> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs()[i];
    memory.emplace_back(port.bytes, uint8_t{0xee});
    for (uint64_t row = 0; row < rows(port); ++row)
      std::memcpy(memory.back().data() + row * padded(port), inputs[i].data() + row * port.dims.back(),
                  port.dims.back() * 2);
  }
  for (const Port& port : program.outputs()) memory.emplace_back(port.bytes, uint8_t{0xee});
  for (size_t i = 0; i < memory.size(); ++i)
    (i < inputs.size() ? in : out).push_back({memory[i].data(), memory[i].size()});
  const Status status = program.run(in, out);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<Half>> results;
  for (size_t i = 0; i < out.size(); ++i) {
    const Port& port = program.outputs()[i];
    std::vector<Half> values(element_count(Shape(port.dims)));
    for (uint64_t row = 0; row < rows(port); ++row)
      std::memcpy(values.data() + row * port.dims.back(),
                  memory[inputs.size() + i].data() + row * padded(port), port.dims.back() * 2);
    results.push_back(std::move(values));
  }
  return results;
}

Tensors run_dense(LoadedProgram& program, const Tensors& inputs) {
  std::vector<std::vector<Half>> bits;
  for (const auto& input : inputs) {
    bits.emplace_back();
    for (const float value : input) bits.back().push_back(float_to_half(value));
  }
  Tensors results;
  for (const auto& output : run_bits(program, bits)) {
    results.emplace_back();
    for (const Half value : output) results.back().push_back(half_to_float(value));
  }
  return results;
}

std::vector<float> run_once(const std::vector<Shape>& shapes, const Tensors& inputs, const Build& build,
                            const std::string& numerics) {
  MilWriter mil;
  std::vector<MilValue> values;
  for (size_t i = 0; i < shapes.size(); ++i)
    values.push_back(mil.input(std::string(1, static_cast<char>('a' + i)), shapes[i]));
  mil.output("z", build(mil, values));
  const auto program = std::move(mil).finish();
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return {};
  const TempFolder folder;
  SoftEngineOptions options = test_options(folder);
  options.numerics = numerics;
  auto engine = make_soft_engine(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  const auto loaded = load_fresh(**engine, *program);
  return loaded == nullptr ? std::vector<float>{} : run_dense(*loaded, inputs)[0];
}

float as_half(float value) {
  return half_to_float(float_to_half(value));
}

std::vector<float> random_values(uint32_t seed, size_t count, float scale) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values)
    value = as_half((static_cast<float>(random() % 20001) / 10000.0f - 1.0f) * scale);
  return values;
}

LayerWeights random_layer(const LayerSize& size, uint32_t seed) {
  const size_t c = size.channels, f = size.ffn;
  const float in = 1.5f / std::sqrt(static_cast<float>(c));
  LayerWeights w;
  w.qkv = random_values(seed + 1, 3 * c * c, in);
  w.qkv_bias = random_values(seed + 2, 3 * c, 0.2f);
  w.out = random_values(seed + 3, c * c, in);
  w.out_bias = random_values(seed + 4, c, 0.2f);
  w.up = random_values(seed + 5, f * c, in);
  w.up_bias = random_values(seed + 6, f, 0.2f);
  w.down = random_values(seed + 7, c * f, 1.5f / std::sqrt(static_cast<float>(f)));
  w.down_bias = random_values(seed + 8, c, 0.2f);
  w.gamma1 = w.gamma2 = random_values(seed + 9, c, 1.0f);
  for (float& g : w.gamma1) g = as_half(1.0f + 0.2f * g);
  for (float& g : w.gamma2) g = as_half(1.0f - 0.2f * g);
  w.beta1 = random_values(seed + 10, c, 0.2f);
  w.beta2 = random_values(seed + 11, c, 0.2f);
  return w;
}

namespace {

MilValue norm(MilWriter& mil, MilValue x, const std::vector<float>& gamma, const std::vector<float>& beta) {
  const uint64_t c = gamma.size();
  const auto centered = mil.sub(x, mil.reduce_mean(x, {1}));
  const auto largest = mil.maximum(mil.reduce_max(mil.abs(centered), {1}), 0.0625f);
  const auto scaled = mil.real_div(centered, largest);
  const auto variance = mil.reduce_mean(mil.mul(scaled, scaled), {1});
  const auto unit = mil.mul(scaled, mil.pow(mil.add(variance, 1e-6f), -0.5f));
  return mil.add(mil.mul(unit, mil.weight({1, c, 1, 1}, gamma)), mil.weight({1, c, 1, 1}, beta));
}

void reference_norm(std::vector<double>* x, size_t c, size_t s, const std::vector<float>& gamma,
                    const std::vector<float>& beta) {
  for (size_t t = 0; t < s; ++t) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < c; ++i) mean += (*x)[i * s + t] / static_cast<double>(c);
    for (size_t i = 0; i < c; ++i) variance += std::pow((*x)[i * s + t] - mean, 2) / static_cast<double>(c);
    for (size_t i = 0; i < c; ++i)
      (*x)[i * s + t] =
          ((*x)[i * s + t] - mean) / std::sqrt(variance + 1e-12) * static_cast<double>(gamma[i]) +
          static_cast<double>(beta[i]);
  }
}

std::vector<double> reference_linear(const std::vector<float>& w, const std::vector<float>& bias,
                                     const std::vector<double>& x, size_t s) {
  const size_t out = bias.size(), in = w.size() / out;
  std::vector<double> y(out * s);
  for (size_t o = 0; o < out; ++o) {
    for (size_t t = 0; t < s; ++t) y[o * s + t] = static_cast<double>(bias[o]);
    for (size_t i = 0; i < in; ++i)
      for (size_t t = 0; t < s; ++t) y[o * s + t] += static_cast<double>(w[o * in + i]) * x[i * s + t];
  }
  return y;
}

}  // namespace

Result<Program> write_layer(const LayerSize& size, const LayerWeights& w) {
  using Ints = MilWriter::Ints;
  const int64_t c = static_cast<int64_t>(size.channels), s = static_cast<int64_t>(size.tokens);
  const int64_t h = static_cast<int64_t>(size.heads), d = c / h;
  const uint64_t uc = size.channels, uf = size.ffn;
  MilWriter mil;
  const auto x = mil.input("a00_x", {1, uc, 1, size.tokens});
  const auto mask = mil.input("a01_mask", {1, 1, 1, size.tokens});
  const auto qkv =
      mil.conv(x, mil.weight({3 * uc, uc, 1, 1}, w.qkv), {.bias = mil.weight({3 * uc}, w.qkv_bias)});
  const auto part = [&](int64_t i) {
    return mil.reshape(mil.slice_by_size(qkv, Ints{0, i * c, 0, 0}, Ints{1, c, 1, s}), {1, h, d, s});
  };
  const auto q = mil.transpose(part(0), {0, 1, 3, 2});
  const auto k = part(1);
  const auto v = mil.transpose(part(2), {0, 1, 3, 2});
  std::vector<MilValue> tiles;
  for (int64_t first = 0; first < s; first += 128) {
    const int64_t n = std::min<int64_t>(128, s - first);
    auto scores = mil.matmul(mil.slice_by_size(q, {0, 0, first, 0}, {1, h, n, d}), k);
    scores = mil.add(mil.mul(scores, 1.0f / std::sqrt(static_cast<float>(d))), mask);
    const auto p = mil.transpose(mil.softmax(mil.transpose(scores, {0, 3, 1, 2}), 1), {0, 2, 3, 1});
    tiles.push_back(mil.matmul(p, v));
  }
  const auto context = mil.reshape(mil.transpose(mil.concat(tiles, 2), {0, 1, 3, 2}), {1, c, 1, s});
  const auto attended =
      mil.conv(context, mil.weight({uc, uc, 1, 1}, w.out), {.bias = mil.weight({uc}, w.out_bias)});
  const auto middle = norm(mil, mil.add(attended, x), w.gamma1, w.beta1);
  const auto up = mil.conv(middle, mil.weight({uf, uc, 1, 1}, w.up), {.bias = mil.weight({uf}, w.up_bias)});
  const auto down = mil.conv(mil.gelu(up, "EXACT"), mil.weight({uc, uf, 1, 1}, w.down),
                             {.bias = mil.weight({uc}, w.down_bias)});
  mil.output("z00_y", norm(mil, mil.add(down, middle), w.gamma2, w.beta2));
  return std::move(mil).finish();
}

std::vector<double> reference_layer(const LayerSize& size, const LayerWeights& w, const std::vector<float>& x,
                                    const std::vector<float>& mask) {
  const size_t c = size.channels, s = size.tokens, h = size.heads, d = c / h;
  const std::vector<double> in(x.begin(), x.end());
  const std::vector<double> qkv = reference_linear(w.qkv, w.qkv_bias, in, s);
  std::vector<double> context(c * s);
  std::vector<double> p(s);
  for (size_t head = 0; head < h; ++head) {
    for (size_t query = 0; query < s; ++query) {
      double total = 0;
      for (size_t key = 0; key < s; ++key) {
        double dot = 0;
        for (size_t i = 0; i < d; ++i)
          dot += qkv[(head * d + i) * s + query] * qkv[(c + head * d + i) * s + key];
        p[key] = std::exp(dot / std::sqrt(static_cast<double>(d)) + static_cast<double>(mask[key]));
        total += p[key];
      }
      for (size_t i = 0; i < d; ++i) {
        double sum = 0;
        for (size_t key = 0; key < s; ++key) sum += p[key] / total * qkv[(2 * c + head * d + i) * s + key];
        context[(head * d + i) * s + query] = sum;
      }
    }
  }
  std::vector<double> middle = reference_linear(w.out, w.out_bias, context, s);
  for (size_t i = 0; i < middle.size(); ++i) middle[i] += in[i];
  reference_norm(&middle, c, s, w.gamma1, w.beta1);
  std::vector<double> up = reference_linear(w.up, w.up_bias, middle, s);
  for (double& value : up) value = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
  std::vector<double> y = reference_linear(w.down, w.down_bias, up, s);
  for (size_t i = 0; i < y.size(); ++i) y[i] += middle[i];
  reference_norm(&y, c, s, w.gamma2, w.beta2);
  return y;
}

}  // namespace anelane
