// fault_storm STRIKES HOSTS [SEED]: strikes workers of a lane under load, then kills hosts. Exit 0:
// everything was as it must be. A short one is a test, a long one is scripts/soak --faults.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "host.h"
#include "storm.h"
#include "support/tiny_checkpoint.h"

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--host") == 0) return faults::be_a_host({argv[2], argv[3], argv[4]});
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: fault_storm STRIKES HOSTS [SEED]\n");
    return 2;
  }
  const uint64_t seed = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const anelane::TempFolder folder;
  const faults::Place place = {folder.file("lane"), folder.file("cache"), folder.file("tiny")};
  if (const anelane::Status written = anelane::write_tiny_checkpoint(place.model); !written.ok()) {
    std::fprintf(stderr, "fault_storm: %s\n", written.message().c_str());
    return 1;
  }
  size_t bad = faults::storm_of_workers(place, std::strtoull(argv[1], nullptr, 10), seed);
  bad += faults::storm_of_hosts(place, std::strtoull(argv[2], nullptr, 10), seed);
  std::printf("%zu things were not as they must be\n", bad);
  return bad == 0 ? 0 : 1;
}
