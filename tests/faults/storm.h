// Random violence against the processes of a lane under load.
#pragma once
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

// Eight threads embed while workers are killed or stopped for a moment, `strikes` times. Returns how many
// things were not as they must be; says on stdout what happened.
size_t storm_of_workers(const Place& place, uint64_t strikes, uint64_t seed);

// Hosts of the lane, one after the other, are killed at a random moment, `hosts` times.
size_t storm_of_hosts(const Place& place, uint64_t hosts, uint64_t seed);
// Such a host: takes the lane, says "open", loads, says "ready" and works until it is killed.
int be_a_host(const Place& place);

}  // namespace faults
