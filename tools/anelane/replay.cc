// Prints how many steps a record has, or the first one that is decided differently now. Needs no lane.
#include "replay.h"

#include <anelane.h>

#include <cinttypes>
#include <cstdio>

#include "report.h"

namespace anelane_tool {

int run_replay(const std::string& path) {
  char difference[4096] = "";
  uint64_t steps = 0;
  anelane_error err = new_error();
  if (anelane_replay(path.c_str(), &steps, difference, sizeof difference, nullptr, &err) != ANELANE_OK)
    return report(err);
  if (difference[0] != '\0') {
    complain(std::string(difference) + " (step " + std::to_string(steps) + ")");
    return kExitRefused;
  }
  std::printf("%" PRIu64 " steps, the same actions\n", steps);
  return finish_output();
}

}  // namespace anelane_tool
