// sim_quality_bench [--quick]: how good the schedule is and how honest retry_after_ms, on drawn workloads in
// virtual time: JSON lines, the same on every machine.
#include <cstdio>
#include <cstring>

#include "honesty.h"
#include "quality.h"

namespace anelane::sim {
namespace {

void print_means(const char* policy, const QualityFigures::Means& m) {
  std::printf(",\"%s\":{\"mean_ms\":%.1f,\"small_ms\":%.1f,\"small_compiled_ms\":%.1f}", policy, m.all / 1e3,
              m.small / 1e3, m.small_compiled / 1e3);
}

void print_quality(const char* name, const QualityTemper& temper, int worlds) {
  const QualityFigures f = measure_quality(temper, 1, worlds);
  std::printf("{\"bench\":\"%s\",\"workloads\":%d,\"shapes\":%zu", name, f.worlds, f.shapes);
  if (!temper.crowded) {
    print_means("lane", f.ours);
    print_means("all_at_once", f.at_once);
    print_means("first_come", f.fcfs);
    print_means("shortest_first", f.shortest);
    std::printf(",\"least_possible_ms\":%.1f", f.least / 1e3);
    std::printf(",\"small_gain_over_all_at_once\":%.2f", f.at_once.small / f.ours.small);
    if (f.ours.small_compiled > 0)
      std::printf(",\"small_compiled_gain_over_all_at_once\":%.2f",
                  f.at_once.small_compiled / f.ours.small_compiled);
    std::printf(",\"worst_settles_over_first_come\":%.3f,\"worst_small_settles_over_first_come\":%.3f",
                f.worst_settles_over_fcfs, f.worst_settles_over_fcfs_small);
    std::printf(",\"worst_over_shortest_first\":%.4f,\"worst_over_least\":%.4f", f.worst_over_shortest,
                f.worst_over_least);
  }
  std::printf(",\"compile_gate_idle_percent\":%.3f,\"load_gate_idle_percent\":%.3f}\n", 100 * f.idle_share(0),
              100 * f.idle_share(1));
}

void print_honesty(const char* name, const HonestyTemper& temper, int worlds) {
  const HonestyFigures f = measure_honesty(temper, 1, worlds);
  std::printf(
      "{\"bench\":\"%s\",\"promises\":%zu,\"kept_percent\":%.2f,\"factor_for_90_percent\":%.3f,"
      "\"factor_for_99_percent\":%.3f}\n",
      name, f.promises, 100 * f.kept_share(), f.factor_for(0.9), f.factor_for(0.99));
}

}  // namespace
}  // namespace anelane::sim

int main(int argc, char** argv) {
  using namespace anelane::sim;
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 2 || (argc == 2 && !quick)) {
    std::fputs("usage: sim_quality_bench [--quick]\n", stderr);
    return 2;
  }
  const int n = quick ? 20 : 500;
  print_quality("schedule_batch_cold", {.arrivals = Arrivals::kBatch, .cache = Cache::kCold}, n);
  print_quality("schedule_batch_cached", {.arrivals = Arrivals::kBatch, .cache = Cache::kAll}, n);
  print_quality("schedule_batch_some_cached",
                {.arrivals = Arrivals::kBatch, .cache = Cache::kSome, .shapes_max = 8}, n);
  print_quality("schedule_mixed_cold", {.cache = Cache::kCold}, n);
  print_quality("schedule_mixed_some_cached", {.cache = Cache::kSome}, n);
  print_quality("schedule_mixed_cached", {.cache = Cache::kAll}, n);
  print_quality("schedule_mixed_estimates_off", {.cache = Cache::kSome, .sigma = 0.25}, n);
  print_quality("schedule_crowded", {.cache = Cache::kSome, .crowded = true}, n);
  print_honesty("retry_exact", {.no_lower_keys = true}, 2 * n);
  print_honesty("retry_exact_cold", {.cache = Cache::kCold, .no_lower_keys = true}, n);
  print_honesty("retry_exact_some_cached", {.cache = Cache::kSome, .no_lower_keys = true}, n);
  print_honesty("retry_exact_cached", {.cache = Cache::kAll, .no_lower_keys = true}, n);
  print_honesty("retry_exact_any_arrivals", {}, 2 * n);
  print_honesty("retry_estimates_off", {.sigma = 0.25, .no_lower_keys = true}, 2 * n);
  print_honesty("retry_estimates_off_any_arrivals", {.sigma = 0.25}, 2 * n);
  print_honesty("retry_estimates_off_lone", {.cache = Cache::kCold, .sigma = 0.25, .lone = true}, 8 * n);
  print_honesty("retry_estimates_off_crowded", {.sigma = 0.25, .crowded = true}, 2 * n);
  return 0;
}
