// From uname(2), os-release and /proc. No state; any thread.
#ifndef __APPLE__
#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <fstream>

#include "worker/system_facts.h"

namespace anelane::worker {
namespace {

// What follows the first line that begins with `key`, without blanks, separators and quotes around it.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t first = line.find_first_not_of(" \t:=\"", key.size());
    const size_t last = line.find_last_not_of(" \t\"");
    return first == std::string::npos || last < first ? std::string() : line.substr(first, last - first + 1);
  }
  return {};
}

}  // namespace

SystemFacts system_facts() {
  SystemFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.build = names.release;
    facts.machine = names.machine;
    facts.name = std::string(names.sysname) + ' ' + names.release;
  }
  const std::string distribution = value_in("/etc/os-release", "PRETTY_NAME");
  if (!distribution.empty()) facts.name = distribution + ", " + facts.name;
  facts.chip = value_in("/proc/cpuinfo", "model name");
  return facts;
}

std::string own_executable() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 && n < static_cast<ssize_t>(sizeof path) ? std::string(path, static_cast<size_t>(n))
                                                        : std::string();
}

}  // namespace anelane::worker
#endif
