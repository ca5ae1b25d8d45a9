// A thread that sleeps is switched away from once, when it begins to; each further switch means that it ran
// in between. Voluntary and involuntary ones are added up.
#include "wakeups.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace faults {

std::map<pid_t, uint64_t> context_switches(const std::vector<pid_t>& processes) {
  std::map<pid_t, uint64_t> switches;
  const pid_t self = static_cast<pid_t>(::syscall(SYS_gettid));
  for (const pid_t process : processes) {
    const std::string folder = "/proc/" + std::to_string(process) + "/task";
    DIR* dir = ::opendir(folder.c_str());
    if (dir == nullptr) continue;
    while (const dirent* entry = ::readdir(dir)) {
      const pid_t thread = std::atoi(entry->d_name);
      if (thread <= 0 || thread == self) continue;
      std::ifstream file(folder + '/' + entry->d_name + "/status");
      for (std::string line; std::getline(file, line);) {
        const size_t name = line.find("voluntary_ctxt_switches:");
        if (name != std::string::npos)
          switches[thread] += std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
      }
    }
    ::closedir(dir);
  }
  return switches;
}

uint64_t wakeups_since(const std::map<pid_t, uint64_t>& before, const std::vector<pid_t>& processes) {
  uint64_t wakeups = 0;
  const auto now = context_switches(processes);
  for (const auto& [thread, count] : now) {
    const auto was = before.find(thread);
    wakeups += was == before.end() ? 1 : count - was->second;
  }
  for (const auto& [thread, count] : before) wakeups += now.count(thread) == 0 ? 1 : 0;
  return wakeups;
}

}  // namespace faults
