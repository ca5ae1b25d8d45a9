// What anelane_lane_peek gives, whole, and what it says of models whose workers keep ending.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <string>
#include <vector>

namespace anelane_tool {

// lock_dir as absolute_folder gives it; "" and *err: refused.
std::string peek_lane(const std::string& lock_dir, anelane_error* err);

struct CrashLoop {
  std::string model;
  int64_t crashes = 0;     // before anything was served; 0: it is quarantined in the lane that is open
  int64_t wait_ms = 0;     // until a worker is started for it again; 0: now
  std::string last_fault;  // of the lane that is open; "": not known
};
std::vector<CrashLoop> crash_loops(const std::string& peek);
// "tiny: 5 workers ended before serving anything, none is started for another 43 s"
std::string words(const CrashLoop& loop);

}  // namespace anelane_tool
