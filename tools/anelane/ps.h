// `anelane ps`: what the lane does, whoever holds it. Opens no lane and asks nobody.
#pragma once
#include <string>

namespace anelane_tool {

struct PsFlags {
  std::string lock_dir;
  bool json = false;
};

// Returns the exit code.
int run_ps(const PsFlags& flags);

}  // namespace anelane_tool
