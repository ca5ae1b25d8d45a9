// `anelane mil check` and `anelane mil run`: for people who write MIL.
#pragma once
#include <string>
#include <vector>

#include "session.h"

namespace anelane_tool {

struct MilCheckFlags {
  std::string mil, weights;
  bool json = false;
};
int run_mil_check(const MilCheckFlags& flags);

struct MilRunFlags {
  std::string mil, weights;
  std::vector<std::string> inputs;   // NAME=FILE.npy | NAME=zeros | NAME=random:SEED
  std::vector<std::string> outputs;  // NAME=FILE.npy
  uint32_t repeat = 1;
  bool json = false;
  uint64_t deadline_ms = 600'000;
  LaneFlags lane;
};
int run_mil(const MilRunFlags& flags);

}  // namespace anelane_tool
