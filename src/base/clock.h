// The one clock of deadlines and of the scheduler: monotonic, and it stops while the machine sleeps
// (CLOCK_MONOTONIC on Linux, CLOCK_UPTIME_RAW on macOS).
#pragma once
#include <cstdint>

namespace anelane {
uint64_t now_ns();
int64_t now_us();
int64_t unix_ms();  // wall clock, for records that people read
}  // namespace anelane
