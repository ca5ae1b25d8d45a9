// The library answers SHAPE_COMPILING at once when a shape cannot be ready by the deadline it was given, with
// the predicted delay. Its compile stays queued, so asking again after that delay finds it ready or nearly
// so. The prediction may be wrong in both directions; hence a lower bound on the sleep (no busy loop on "0
// ms") and an upper one (a shape that is ready early is not slept through for minutes). One thread.
#include "retry.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace anelane_tool {
namespace {

constexpr uint64_t kShortestSleepMs = 20;
constexpr uint64_t kLongestSleepMs = 5'000;
constexpr uint64_t kNanosOfMilli = 1'000'000;

}  // namespace

RetryClock real_clock() {
  return {anelane_now_ns, [](uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }};
}

anelane_status with_patience(uint64_t deadline, const RetryClock& clock,
                             const std::function<anelane_status(anelane_error*)>& attempt,
                             anelane_error* err) {
  while (true) {
    const anelane_status status = attempt(err);
    if (status != ANELANE_SHAPE_COMPILING) return status;
    const uint64_t wait_ms = std::max(err->retry_after_ms, kShortestSleepMs);
    const uint64_t now = clock.now_ns();
    const uint64_t left_ms = deadline > now ? (deadline - now) / kNanosOfMilli : 0;
    if (wait_ms > left_ms) return status;
    clock.sleep_ms(std::min(wait_ms, kLongestSleepMs));
  }
}

}  // namespace anelane_tool
