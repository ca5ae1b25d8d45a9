// The lane as JSON (anelane_lane_describe): options, models with their slots, queue, learned costs,
// counters.
#pragma once
#include <string>

namespace anelane {
class Lane;
// Lane thread.
std::string describe_lane(Lane& lane);
}  // namespace anelane
