// Plain measuring: CLOCK_MONOTONIC through anelane_now_ns, medians, no warm-up magic. One thread unless a
// benchmark says so.
#include "bench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::pair<double, double> interleave(int repetitions, const std::function<double()>& subject,
                                     const std::function<double()>& baseline) {
  std::vector<double> subjects, baselines;
  for (int i = 0; i < repetitions; ++i) {
    subjects.push_back(subject());
    baselines.push_back(baseline());
  }
  return {median(std::move(subjects)), median(std::move(baselines))};
}

void print(const std::string& name, const std::vector<std::pair<std::string, std::string>>& members) {
  std::printf("{\"bench\":\"%s\"", name.c_str());
  for (const auto& [key, value] : members) std::printf(",\"%s\":%s", key.c_str(), value.c_str());
  std::puts("}");
  std::fflush(stdout);
}

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

anelane_error new_error() {
  anelane_error err = {};
  err.struct_size = sizeof err;
  return err;
}

uint64_t in_ms(uint64_t ms) {
  return anelane_now_ns() + ms * 1'000'000;
}

void require(anelane_status status, const anelane_error& err) {
  if (status == ANELANE_OK) return;
  char text[1024];
  anelane_error_text(&err, text, sizeof text);
  std::fprintf(stderr, "bench: %s\n", text);
  std::exit(1);
}

anelane_lane open_lane(const std::string& folder) {
  anelane_lane_options options;
  anelane_lane_options_init(&options, sizeof options);
  return open_lane(folder, options);
}

anelane_lane open_lane(const std::string& folder, anelane_lane_options options) {
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  options.engine = ANELANE_ENGINE_SOFT;
  options.lock_dir = folder.c_str();
  anelane_lane lane = {};
  anelane_error err = new_error();
  require(anelane_lane_open(&options, in_ms(10'000), &lane, &err), err);
  return lane;
}

anelane_model load(anelane_lane lane, const std::string& path, const std::vector<uint32_t>& rungs) {
  anelane_model_options options;
  anelane_model_options_init(&options, sizeof options);
  options.rungs = rungs.empty() ? nullptr : rungs.data();
  options.rung_count = static_cast<uint32_t>(rungs.size());
  anelane_model model = {};
  anelane_error err = new_error();
  require(anelane_model_load(lane, path.c_str(), &options, in_ms(600'000), &model, &err), err);
  return model;
}

void close(anelane_lane lane) {
  anelane_error err = new_error();
  require(anelane_lane_close(lane, in_ms(10'000), &err), err);
}

}  // namespace bench
