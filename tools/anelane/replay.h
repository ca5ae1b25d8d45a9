// `anelane replay`: what was decided once, decided again.
#pragma once
#include <string>

namespace anelane_tool {

// Returns the exit code: 0 when every step of the record leads to the same actions.
int run_replay(const std::string& path);

}  // namespace anelane_tool
