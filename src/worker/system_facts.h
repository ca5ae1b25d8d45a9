// What the doctor asks the system about itself. Texts are for people; "" is what could not be found out.
#pragma once
#include <string>

namespace anelane::worker {

struct SystemFacts {
  std::string name;     // "macOS 27.0"; "Debian GNU/Linux 12 (bookworm), Linux 6.1"
  std::string build;    // "26A434"; of Linux the kernel's release
  std::string machine;  // "arm64"
  std::string chip;     // "Apple M5"; what /proc/cpuinfo says
  std::string too_old;  // why this system is too old for the library; "": it is not
};

SystemFacts system_facts();
std::string own_executable();  // absolute; ""

}  // namespace anelane::worker
