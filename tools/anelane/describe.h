// `anelane describe`: what a checkpoint is, or who holds the lane. Starts nothing.
#pragma once
#include <string>

namespace anelane_tool {

struct DescribeFlags {
  std::string model_dir;  // empty: describe the lane's holder
  std::string lock_dir;
  bool json = false;
};

// Returns the exit code.
int run_describe(const DescribeFlags& flags);

}  // namespace anelane_tool
