// `anelane describe`: what a checkpoint is, or who holds the lane. Starts nothing.
#pragma once
#include <cstdint>
#include <string>

namespace anelane_tool {

struct DescribeFlags {
  std::string model_dir;  // empty: describe the lane's holder
  std::string lock_dir;
  bool json = false;
};

// "2026-07-30T12:00:00Z"
std::string utc(int64_t unix_ms);
// What to say of a lane that nobody holds; lock_dir as absolute_folder gives it.
std::string free_lane(const std::string& lock_dir);

// Returns the exit code.
int run_describe(const DescribeFlags& flags);

}  // namespace anelane_tool
