// `anelane selftest`: do library, worker and engine work together on this machine?
#pragma once
#include <string>

#include "session.h"

namespace anelane_tool {

struct SelftestFlags {
  std::string model_dir;  // empty: the tiny model, whose right vectors are known
  anelane_engine engine = ANELANE_ENGINE_AUTO;
  anelane_worker_mode worker_mode = ANELANE_WORKER_PROCESS;
};

// Prints a line for each step. Returns the exit code.
int run_selftest(const SelftestFlags& flags);

}  // namespace anelane_tool
