// Hosts of every habit: what they are, by name.
#pragma once
#include <string>

#include "storm.h"

namespace faults {

// Lives such a life of a host with a lane in it, on the way through main. What is wrong goes to standard
// output; returns the exit code, unless the habit is to end otherwise.
int live(const std::string& habit, const Place& place);

inline constexpr int kInCallback = 41, kQuick = 42, kUnderLoad = 43, kForkedChild = 44;  // exit codes
inline constexpr size_t kForked = 3;                                                     // children

}  // namespace faults
