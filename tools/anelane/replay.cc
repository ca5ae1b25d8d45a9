// Prints how many steps a record has, or the first one that is decided differently now. A record without its
// closing line replays as well, and is not the whole story: that is said, on stderr. Needs no lane.
#include "replay.h"

#include <anelane.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "report.h"

namespace anelane_tool {
namespace {

// Whether the last line says why the record ends.
bool is_closed(const std::string& path) {
  constexpr std::streamoff kTail = 64;  // more than a closing line has
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (!file || size <= 0) return false;
  std::string tail(static_cast<size_t>(size < kTail ? size : kTail), '\0');
  file.seekg(size - static_cast<std::streamoff>(tail.size()));
  if (!file.read(tail.data(), static_cast<std::streamsize>(tail.size()))) return false;
  if (tail.back() == '\n') tail.pop_back();
  const size_t line = tail.rfind('\n');
  return tail.compare(line == std::string::npos ? 0 : line + 1, 7, "{\"end\":") == 0;
}

}  // namespace

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
  if (!is_closed(path))
    complain(path +
             " is not whole: its closing line is missing, so the process that wrote it was killed or is " +
             "still running, or a write failed");
  std::printf("%" PRIu64 " steps, the same actions\n", steps);
  return finish_output();
}

}  // namespace anelane_tool
