#include "base/clock.h"

#include <ctime>

namespace anelane {

uint64_t now_ns() {
  timespec ts{};
#ifdef __APPLE__
  clock_gettime(CLOCK_UPTIME_RAW, &ts);
#else
  clock_gettime(CLOCK_MONOTONIC, &ts);
#endif
  return static_cast<uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(ts.tv_nsec);
}

int64_t now_us() {
  return static_cast<int64_t>(now_ns() / 1000);
}

int64_t unix_ms() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1000 + ts.tv_nsec / 1'000'000;
}

}  // namespace anelane
