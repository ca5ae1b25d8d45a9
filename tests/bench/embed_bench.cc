// The real model: tokens per second of embed at several lengths, and what the program cache saves at the
// first use of a shape.
#include "bench.h"

namespace bench {
namespace {

constexpr uint32_t kBatch = 8;

// Sequences of this length, as many as kBatch; returns the seconds of one call.
double embed_seconds(anelane_model model, uint32_t length) {
  std::vector<int32_t> ids(length);
  for (uint32_t i = 0; i < length; ++i) ids[i] = static_cast<int32_t>(2000 + i * 7);
  const std::vector<anelane_tokens> items(kBatch, anelane_tokens{ids.data(), ids.size()});
  anelane_model_info info = {};
  info.struct_size = sizeof info;
  anelane_error err = new_error();
  require(anelane_model_get_info(model, &info, &err), err);
  std::vector<float> rows(size_t{kBatch} * info.dim);
  const uint64_t start = anelane_now_ns();
  require(anelane_embed(model, items.data(), items.size(), rows.data(), 0, nullptr, in_ms(600'000), &err),
          err);
  return static_cast<double>(anelane_now_ns() - start) / 1e9;
}

void tokens_per_second(const Settings& settings) {
  const anelane_lane lane = open_lane(settings.work_dir + "/embed-lane");
  const anelane_model model = load(lane, settings.model_dir);
  for (const uint32_t length : {16u, 128u, 256u, 512u}) {
    embed_seconds(model, length);  // the shape becomes resident
    std::vector<double> seconds;
    for (int i = 0; i < (settings.quick ? 1 : 7); ++i) seconds.push_back(embed_seconds(model, length));
    const double typical = median(std::move(seconds));
    print("embed", {{"tokens_each", std::to_string(length)},
                    {"sequences", std::to_string(kBatch)},
                    {"ms", number(typical * 1e3, 1)},
                    {"tokens_per_s", number(kBatch * length / typical, 0)},
                    {"sequences_per_s", number(kBatch / typical, 1)}});
  }
  close(lane);
}

double admission_ms(const std::string& folder, const std::string& model_dir) {
  const anelane_lane lane = open_lane(folder);
  const anelane_model model = load(lane, model_dir);
  anelane_error err = new_error();
  const uint64_t start = anelane_now_ns();
  require(anelane_admit(model, 128, in_ms(600'000), &err), err);
  const double ms = static_cast<double>(anelane_now_ns() - start) / 1e6;
  close(lane);
  return ms;
}

void cold_and_cached(const Settings& settings) {
  std::vector<double> cold, cached;
  for (int i = 0; i < (settings.quick ? 1 : 5); ++i) {
    const std::string folder = settings.work_dir + "/admission-" + std::to_string(i);
    cold.push_back(admission_ms(folder, settings.model_dir));
    cached.push_back(admission_ms(folder, settings.model_dir));
  }
  const double first = median(std::move(cold)), second = median(std::move(cached));
  print("admission", {{"shape", "128"},
                      {"cold_ms", number(first, 1)},
                      {"cached_ms", number(second, 1)},
                      {"ratio", number(first / second, 2)}});
}

}  // namespace

void embed_benchmarks(const Settings& settings) {
  tokens_per_second(settings);
  cold_and_cached(settings);
}

}  // namespace bench
