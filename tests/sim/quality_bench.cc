// sim_quality_bench [--quick]: how good the schedule is and how honest retry_after_ms, on drawn workloads in
// virtual time: JSON lines, the same on every machine. sim_quality_bench --show BENCH SEED: one of these
// workloads as a table, who was ready when under which policy, to see why a figure is what it is.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "honesty.h"
#include "quality.h"

namespace anelane::sim {
namespace {

struct NamedQuality {
  const char* name;
  QualityTemper temper;
};
const NamedQuality kQualities[] = {
    {"schedule_batch_cold", {.arrivals = Arrivals::kBatch, .cache = Cache::kCold}},
    {"schedule_batch_cached", {.arrivals = Arrivals::kBatch, .cache = Cache::kAll}},
    // At most eight shapes, so that the best of all orders can be searched for.
    {"schedule_batch_some_cached", {.arrivals = Arrivals::kBatch, .cache = Cache::kSome, .shapes_max = 8}},
    {"schedule_mixed_cold", {.cache = Cache::kCold}},
    {"schedule_mixed_some_cached", {.cache = Cache::kSome}},
    {"schedule_mixed_cached", {.cache = Cache::kAll}},
    {"schedule_mixed_estimates_off", {.cache = Cache::kSome, .sigma = 0.25}},
    {"schedule_crowded", {.cache = Cache::kSome, .crowded = true}},
};

void print_gain(const char* key, double there, double here) {
  if (here > 0) std::printf(",\"%s\":%.2f", key, there / here);
}

void print_loss(const char* over, const QualityFigures::Loss& loss) {
  std::printf(
      ",\"worst_settles_over_%s\":%.3f,\"workloads_beyond_one_settle_over_%s\":%d,\"seed_over_%s\":%llu",
      over, loss.worst, over, loss.beyond_one, over, static_cast<unsigned long long>(loss.seed));
}

void print_quality(const NamedQuality& bench, int worlds) {
  const QualityFigures f = measure_quality(bench.temper, 1, worlds);
  std::printf("{\"bench\":\"%s\",\"workloads\":%d,\"shapes\":%zu", bench.name, f.worlds, f.shapes);
  if (!bench.temper.crowded) {
    for (size_t p = 0; p < kPolicies; ++p) {
      const QualityFigures::Means& m = f.means[p];
      std::printf(
          ",\"%s\":{\"mean_ms\":%.1f,\"small_ms\":%.1f,\"small_compiled_ms\":%.1f,\"small_loaded_ms\":%.1f}",
          name_of(static_cast<Policy>(p)), m.all / 1e3, m.small / 1e3, m.small_compiled / 1e3,
          m.small_loaded / 1e3);
    }
    const QualityFigures::Means& ours = f.of(Policy::kLane);
    const QualityFigures::Means& at_once = f.of(Policy::kAllAtOnce);
    print_gain("small_gain_over_all_at_once", at_once.small, ours.small);
    print_gain("small_compiled_gain_over_all_at_once", at_once.small_compiled, ours.small_compiled);
    print_gain("small_loaded_gain_over_all_at_once", at_once.small_loaded, ours.small_loaded);
    print_gain("small_gain_over_all_at_once_one_way", f.of(Policy::kAllAtOnceOneWay).small, ours.small);
    print_loss("first_come", f.first_come);
    print_loss("first_come_small", f.first_come_small);
    print_loss("first_come_two_ways_small", f.two_ways_small);
    std::printf(",\"least_possible_ms\":%.1f,\"worst_over_shortest_first\":%.4f,\"worst_over_least\":%.4f",
                f.least / 1e3, f.worst_over_shortest, f.worst_over_least);
    std::printf(",\"seed_over_least\":%llu", static_cast<unsigned long long>(f.worst_over_least_seed));
  }
  std::printf(",\"compile_gate_idle_percent\":%.3f,\"load_gate_idle_percent\":%.3f}\n", 100 * f.idle_share(0),
              100 * f.idle_share(1));
}

// Seconds. The columns are when each policy has the shape ready.
int show(const char* name, const char* seed) {
  for (const NamedQuality& bench : kQualities) {
    if (std::strcmp(bench.name, name) != 0) continue;
    Draws draws(std::strtoull(seed, nullptr, 10));
    const Workload w = draw_quality_workload(draws, bench.temper);
    const QualityRun run = run_quality(w);
    std::printf("  asked  model:shape       cost");
    for (size_t p = 0; p < kPolicies; ++p) std::printf("  %s", name_of(static_cast<Policy>(p)));
    std::puts("");
    std::vector<std::vector<Time>> ready;
    for (size_t p = 0; p < kPolicies; ++p) ready.push_back(ready_under(run, static_cast<Policy>(p)));
    for (size_t i = 0; i < run.jobs.size(); ++i) {
      const Job& j = run.jobs[i];
      const Happening& h = w.happenings[i];
      const Model& m = w.models[h.model];
      std::printf("%7.2f  %s:%-5u %-7s %8.2f", static_cast<double>(j.arrival) / 1e6, m.name.c_str(),
                  m.rungs[h.rung].shape, j.load ? "load" : "compile", static_cast<double>(j.cost) / 1e6);
      for (size_t p = 0; p < kPolicies; ++p)
        std::printf("  %*.2f", static_cast<int>(std::strlen(name_of(static_cast<Policy>(p)))),
                    static_cast<double>(ready[p][i]) / 1e6);
      std::puts("");
    }
    return 0;
  }
  std::fprintf(stderr, "sim_quality_bench: no workloads '%s'\n", name);
  return 2;
}

void print_honesty(const char* name, const HonestyTemper& temper, int worlds) {
  const HonestyFigures f = measure_honesty(temper, 1, worlds);
  std::printf(
      "{\"bench\":\"%s\",\"promises\":%zu,\"kept_percent\":%.2f,\"kept_percent_at_1.32\":%.2f,"
      "\"factor_for_90_percent\":%.3f,\"factor_for_99_percent\":%.3f,\"missed\":%zu,"
      "\"missed_behind_own_workers_other_admission\":%zu}\n",
      name, f.promises, 100 * f.kept_share(), 100 * f.share_within(1.32), f.factor_for(0.9),
      f.factor_for(0.99), f.promises - f.kept, f.missed_behind_own_worker);
}

void print_all(int n) {
  for (const NamedQuality& bench : kQualities) print_quality(bench, n);
  print_honesty("retry_exact", {.no_lower_keys = true}, 2 * n);
  print_honesty("retry_exact_cold", {.cache = Cache::kCold, .no_lower_keys = true}, n);
  print_honesty("retry_exact_some_cached", {.cache = Cache::kSome, .no_lower_keys = true}, n);
  print_honesty("retry_exact_cached", {.cache = Cache::kAll, .no_lower_keys = true}, n);
  print_honesty("retry_exact_any_arrivals", {}, 2 * n);
  print_honesty("retry_estimates_off", {.sigma = 0.25, .no_lower_keys = true}, 2 * n);
  print_honesty("retry_estimates_off_any_arrivals", {.sigma = 0.25}, 2 * n);
  print_honesty("retry_estimates_off_lone", {.cache = Cache::kCold, .sigma = 0.25, .lone = true}, 8 * n);
  print_honesty("retry_estimates_off_crowded", {.sigma = 0.25, .crowded = true}, 2 * n);
  // The machine is off its estimates and stays so; every shape was compiled once before. Then: each compile
  // is off anew.
  print_honesty("retry_estimates_off_measured",
                {.cache = Cache::kCold, .sigma = 0.25, .no_lower_keys = true, .measured = true}, n);
  print_honesty("retry_estimates_off_redrawn",
                {.cache = Cache::kCold, .no_lower_keys = true, .measured = true, .redraw_sigma = 0.25}, n);
}

}  // namespace
}  // namespace anelane::sim

int main(int argc, char** argv) {
  using namespace anelane::sim;
  if (argc == 4 && std::strcmp(argv[1], "--show") == 0) return show(argv[2], argv[3]);
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 2 || (argc == 2 && !quick)) {
    std::fputs("usage: sim_quality_bench [--quick | --show BENCH SEED]\n", stderr);
    return 2;
  }
  print_all(quick ? 20 : 500);
  return 0;
}
