// Random violence against the processes of a lane under load.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <random>
#include <string>

namespace faults {

using Random = std::mt19937_64;
inline uint64_t below(Random& random, uint64_t end) {
  return random() % end;
}

struct Place {
  std::string lane, cache, model;  // folders
};

inline anelane_lane_options options_in(const Place& place) {
  anelane_lane_options options = {};
  anelane_lane_options_init(&options, sizeof options);
  options.engine = ANELANE_ENGINE_SOFT;
  options.soft_threads = 1;
  options.settle_ms = 1;
  options.lock_dir = place.lane.c_str();
  options.cache_dir = place.cache.c_str();
  return options;
}

// Eight threads embed while workers are killed or stopped for a moment, `strikes` times. Returns how many
// things were not as they must be; says on stdout what happened.
size_t storm_of_workers(const Place& place, uint64_t strikes, uint64_t seed);

// Hosts of the lane, one after the other, are killed at a random moment, `hosts` times.
size_t storm_of_hosts(const Place& place, uint64_t hosts, uint64_t seed);
// Such a host: takes the lane, says "open", loads, says "ready" and works until it is killed.
int be_a_host(const Place& place);

}  // namespace faults
