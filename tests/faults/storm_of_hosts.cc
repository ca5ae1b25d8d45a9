// The parent adopts what its hosts leave behind, so an orphan is a child of its own and a zombie is one that
// it collects (host_process.h). A host tells on its standard output how far it is.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "host.h"
#include "host_process.h"
#include "load.h"
#include "storm.h"

namespace faults {
namespace {

constexpr uint64_t kFreeMs = 1'000;  // L1.4
constexpr uint64_t kReadyMs = 60'000;
constexpr uint64_t kSlackMs = 2'000;  // of a busy machine

// Takes the lane and says how long that took, or why it could not.
anelane_status open_lane(const Place& place, uint64_t wait_ms, anelane_lane* lane, anelane_error* err) {
  const anelane_lane_options options = options_in(place);
  return anelane_lane_open(&options, in_ms(wait_ms), lane, err);
}

}  // namespace

int be_a_host(const Place& place) {
  anelane_lane lane = {};
  anelane_error err = new_error();
  if (open_lane(place, kReadyMs, &lane, &err) != ANELANE_OK) {
    std::printf("%s\n", text_of(err).c_str());
    return 1;
  }
  std::puts("open");
  std::fflush(stdout);
  Load load(lane, place.model);
  load.start();
  std::puts("ready");
  std::fflush(stdout);
  for (;;) ::pause();
}

size_t storm_of_hosts(const Place& place, uint64_t hosts, uint64_t seed) {
  Random random(seed);
  const std::string before = inventory();
  size_t bad = 0;
  uint64_t slowest_ms = 0;
  for (uint64_t i = 0; i < hosts; ++i) {
    HostProcess host({"--host", place.lane, place.cache, place.model});
    // Half of them in the middle of their work, the others wherever they are: starting workers, loading.
    const char* until = below(random, 2) == 0 ? "ready" : "open";
    if (!host.has_said(until, kReadyMs)) ++bad;
    std::this_thread::sleep_for(std::chrono::milliseconds(below(random, 100)));
    const uint64_t killed_ns = anelane_now_ns();
    host.kill();
    anelane_lane lane = {};
    anelane_error err = new_error();
    // The next process gets the lane.
    if (open_lane(place, kFreeMs + kSlackMs, &lane, &err) != ANELANE_OK) {
      std::printf("host %llu: %s\n", static_cast<unsigned long long>(i), text_of(err).c_str());
      ++bad;
    } else {
      slowest_ms = std::max(slowest_ms, ms_since(killed_ns));
      anelane_lane_close(lane, in_ms(kReadyMs), nullptr);
    }
    if (!nobody_left(kFreeMs + kSlackMs)) {
      std::printf("host %llu left workers behind\n", static_cast<unsigned long long>(i));
      ++bad;
    }
  }
  const std::string after = inventory();
  if (after != before) {
    std::printf("left behind\nbefore\n%s\nafter\n%s\n", before.c_str(), after.c_str());
    ++bad;
  }
  for (const auto& entry : std::filesystem::directory_iterator(place.lane)) {
    const std::string name = entry.path().filename();
    if (name == "lane.lock" || name == "lane.json") continue;
    if (name == "lane.crashes.json") continue;  // of workers that were killed before they served anything
    std::printf("left in the folder of the lane: %s\n", name.c_str());
    ++bad;
  }
  std::printf("%llu hosts killed: the lane was free after at most %llu ms\n",
              static_cast<unsigned long long>(hosts), static_cast<unsigned long long>(slowest_ms));
  return bad;
}

}  // namespace faults
