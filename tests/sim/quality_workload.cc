// Models, then who asks when. A mixed workload comes in bursts of one to eight requests within 200 ms; the
// pauses between them are drawn so that the compiler is busy for between half the time and all of it.
#include "quality_workload.h"

#include <algorithm>
#include <cmath>

#include "scheduler/seed_costs.h"

namespace anelane::sim {
namespace {

struct Size {
  uint32_t layers, width, widest;
};
// all-MiniLM-L6-v2, gte-modernbert-base, qwen3-embedding-0.6b; the widest shapes that compile in minutes.
constexpr Size kSizes[] = {{6, 384, 512}, {22, 768, 8192}, {28, 1024, 2048}};
constexpr uint32_t kLadder[] = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr Time kNobodysBound = 1000ll * 3600 * 1'000'000;

// A cached layer loads in 3.5 ms (small) to 45 ms (the widest), measured; between them by the logarithm.
double load_ms_per_layer(uint32_t shape) {
  return 3.5 + (45 - 3.5) * std::log2(shape / 128.0) / std::log2(8192 / 128.0);
}

Time around(Draws& d, Time predicted, double sigma) {
  if (sigma == 0) return predicted;
  const double u = d.unit(), v = d.unit();
  const double factor = std::exp(sigma * standard_normal(u, v));
  return std::max<Time>(1, std::llround(static_cast<double>(predicted) * factor));
}

Model draw_model(Draws& d, const QualityTemper& temper, Cache cache, size_t index, double machine) {
  const Size size = kSizes[d.below(std::size(kSizes))];
  Model m;
  m.name = std::string(1, static_cast<char>('A' + index));
  m.layers = size.layers;
  for (const uint32_t shape : kLadder) {
    if (shape > size.widest) break;
    RungCosts c;
    c.shape = shape;
    c.seed =
        std::llround(static_cast<double>(sched::seed_compile_cost(size.layers, size.width, shape)) * machine);
    c.truth = around(d, c.seed, temper.sigma);
    c.load = std::llround(size.layers * load_ms_per_layer(shape) * machine * 1e3);
    c.true_load = around(d, c.load, temper.sigma);
    c.cached = cache == Cache::kAll || (cache == Cache::kSome && d.chance(0.3));
    m.rungs.push_back(c);
  }
  return m;
}

}  // namespace

Time predicted_cost(const RungCosts& rung) {
  return rung.cached ? rung.load : rung.seed;
}

Workload draw_quality_models(Draws& d, const QualityTemper& temper) {
  Workload w;
  w.options.admission_bound = kNobodysBound;
  if (!temper.crowded) {
    w.options.executable_budget = 10'000;
    w.options.shapes_per_model = std::size(kLadder);
    w.options.shapes_total = 1'000;
  }
  const size_t models = 1 + d.below(temper.models_max);
  const Cache cache = temper.cache == Cache::kAny ? static_cast<Cache>(d.below(3)) : temper.cache;
  const double machine = static_cast<double>(d.log_within(50, 200)) / 100;
  for (size_t i = 0; i < models; ++i) w.models.push_back(draw_model(d, temper, cache, i, machine));
  return w;
}

Workload draw_quality_workload(Draws& d, const QualityTemper& temper) {
  Workload w = draw_quality_models(d, temper);
  struct Ask {
    uint32_t model, rung;
  };
  std::vector<Ask> asks;
  for (int round = 0; round < (temper.crowded ? 4 : 1); ++round)
    for (uint32_t m = 0; m < w.models.size(); ++m)
      for (uint32_t r = 0; r < w.models[m].rungs.size(); ++r) asks.push_back({m, r});
  for (size_t i = asks.size(); i > 1; --i) std::swap(asks[i - 1], asks[d.below(i)]);
  asks.resize(std::min(asks.size(), temper.shapes_max));
  const double pressure = 0.5 + d.unit() / 2;
  Time t = 0;
  uint64_t left = 0, id = 0;
  Time work = 0;
  for (const Ask& ask : asks) {
    if (temper.arrivals == Arrivals::kMixed && left-- == 0) {
      t += std::llround(static_cast<double>(work) / pressure * -std::log(std::max(d.unit(), 1e-9)));
      left = d.below(8);
      work = 0;
    }
    Happening h{.t = t, .id = ++id, .model = ask.model, .rung = ask.rung};
    if (temper.arrivals == Arrivals::kMixed) h.t += d.within(0, 200) * 1000;
    h.no_pin = !temper.crowded;
    h.hold = d.log_within(1, 2000) * 1000;
    work += predicted_cost(w.models[ask.model].rungs[ask.rung]);
    w.happenings.push_back(h);
  }
  std::stable_sort(w.happenings.begin(), w.happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.t < b.t; });
  return w;
}

}  // namespace anelane::sim
