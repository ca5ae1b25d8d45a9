// What this system says about itself. Alone in its file: the tests' own worker is linked with another
// default_apple_options(), which points at a stand-in for the framework, and the linker then leaves this one
// out.
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

#include <cstdlib>

#include "ane_direct/apple/apple_engine.h"
#include "ane_direct/apple/temp_folder.h"

namespace anelane {
namespace {

std::string system_value([[maybe_unused]] const char* name) {
#ifdef __APPLE__
  char text[256];
  size_t size = sizeof text;
  if (::sysctlbyname(name, text, &size, nullptr, 0) == 0 && size > 0) return std::string(text, size - 1);
#endif
  return {};
}

}  // namespace

AppleEngineOptions default_apple_options() {
  AppleEngineOptions options;
#ifdef __APPLE__
  options.paths = {"/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Foundation.framework/Foundation",
                   "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation",
                   "/System/Library/Frameworks/IOSurface.framework/IOSurface",
                   "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine"};
#endif
  options.os_build = system_value("kern.osversion");
  options.os_version = system_value("kern.osproductversion");
  options.user_temp_folder = apple::user_temp_folder();
  const char* tmpdir = std::getenv("TMPDIR");
  options.tmpdir = tmpdir != nullptr ? tmpdir : "";
  return options;
}

}  // namespace anelane
