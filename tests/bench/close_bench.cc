// How long a close takes: four models that have worked, in good order, and with workers that are stopped,
// which nothing but a kill ends. Medians; the second is the library's own bound and not work.
#include <signal.h>

#include <cstdlib>
#include <cstring>

#include "bench.h"
#include "support/tiny_checkpoint.h"

namespace bench {
namespace {

constexpr int kLoaded = 4;

void stop_workers(anelane_lane lane) {
  std::string text(1 << 16, '\0');
  anelane_error err = new_error();
  require(anelane_lane_describe(lane, text.data(), text.size(), nullptr, &err), err);
  const char* member = "\"worker_pid\":";
  for (size_t at = 0; (at = text.find(member, at)) != std::string::npos;) {
    at += std::strlen(member);
    ::kill(std::atoi(text.c_str() + at), SIGSTOP);
  }
}

double close_ms(const std::string& folder, bool stopped) {
  const anelane_lane lane = open_lane(folder + "/lane");
  anelane_error err = new_error();
  for (int i = 0; i < kLoaded; ++i)
    require(anelane_admit(load(lane, folder + "/tiny"), 256, in_ms(60'000), &err), err);
  if (stopped) stop_workers(lane);
  const uint64_t start = anelane_now_ns();
  require(anelane_lane_close(lane, ANELANE_NO_DEADLINE, &err), err);
  return static_cast<double>(anelane_now_ns() - start) / 1e6;
}

double median_close_ms(const std::string& folder, bool stopped, int repetitions) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) times.push_back(close_ms(folder, stopped));
  return median(times);
}

}  // namespace

void close_benchmarks(const Settings& settings) {
  const std::string folder = settings.work_dir + "/close";
  if (!anelane::write_tiny_checkpoint(folder + "/tiny").ok()) std::abort();
  const double clean = median_close_ms(folder, false, settings.quick ? 1 : 51);
  const double forced = median_close_ms(folder, true, settings.quick ? 1 : 5);
  print("close", {{"models", std::to_string(kLoaded)},
                  {"in_good_order_ms", number(clean, 1)},
                  {"stopped_workers_ms", number(forced, 1)}});
}

}  // namespace bench
