// Patience with a lane that says "not yet".
#pragma once
#include <anelane.h>

#include <cstdint>
#include <functional>

namespace anelane_tool {

struct RetryClock {
  std::function<uint64_t()> now_ns;
  std::function<void(uint64_t ms)> sleep_ms;
};
// anelane_now_ns and a plain sleep.
RetryClock real_clock();

// Calls `attempt` until it answers anything but SHAPE_COMPILING, sleeping as long as the answer says in
// between. When the time to wait goes beyond the deadline, gives SHAPE_COMPILING back at once: waiting would
// not help.
anelane_status with_patience(uint64_t deadline, const RetryClock& clock,
                             const std::function<anelane_status(anelane_error*)>& attempt,
                             anelane_error* err);

}  // namespace anelane_tool
