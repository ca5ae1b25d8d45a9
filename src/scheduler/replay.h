// Feeds a recorded history (history.h) to a new scheduler and compares what it decides. The words of the slot
// gates, which callers changed while it was recorded, are given back as they were read then.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace anelane::sched {

struct Replay {
  uint64_t steps = 0;      // events that were fed
  std::string difference;  // the first one, with its line; "" when every step led to the same actions
  std::string ended;       // the reason in the closing line; "" when the record has none
};

// `text`: the whole record; `name` names it in errors. INVALID_ARGUMENT with the line for what is no history.
Result<Replay> replay_history(std::string_view text, std::string_view name);

}  // namespace anelane::sched
