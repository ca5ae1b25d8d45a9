// From sysctl(3) and dyld. No state; any thread.
#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <sys/sysctl.h>

#include <climits>
#include <cstdlib>

#include "worker/system_facts.h"

namespace anelane::worker {
namespace {

constexpr int kOldestRelease = 13;  // what the files are linked for (scripts/macos-tools)

std::string sysctl_text(const char* name) {
  char text[256];
  size_t size = sizeof text;
  if (::sysctlbyname(name, text, &size, nullptr, 0) != 0 || size == 0) return {};
  return std::string(text, size - 1);  // the size counts the NUL
}

}  // namespace

SystemFacts system_facts() {
  SystemFacts facts;
  const std::string version = sysctl_text("kern.osproductversion");
  facts.name = "macOS " + version;
  facts.build = sysctl_text("kern.osversion");
  facts.machine = sysctl_text("hw.machine");
  facts.chip = sysctl_text("machdep.cpu.brand_string");
  const std::string model = sysctl_text("hw.model");
  if (!model.empty()) facts.chip += " (" + model + ")";
  if (!version.empty() && std::atoi(version.c_str()) < kOldestRelease)
    facts.too_old = "macOS " + std::to_string(kOldestRelease) + " is the oldest release that is served";
  return facts;
}

std::string own_executable() {
  char path[PATH_MAX];
  uint32_t size = sizeof path;
  if (::_NSGetExecutablePath(path, &size) != 0) return {};
  char resolved[PATH_MAX];
  return ::realpath(path, resolved) != nullptr ? std::string(resolved) : std::string(path);
}

}  // namespace anelane::worker
#endif
