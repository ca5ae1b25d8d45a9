// The system says what processor and system can do; under Rosetta that is what the translation can. AVX-512
// is left out: this system grants it to a thread at its first use only, on a few machines, and the compiler
// that the files are made with does not build its kernels. No state.
#if defined(__x86_64__) && defined(__APPLE__)
#include <sys/sysctl.h>

#include "ane_direct/soft/x86_level.h"

namespace anelane::soft {
namespace {

bool has(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && size == sizeof value && value != 0;
}

}  // namespace

X86Level x86_level() {
  const bool avx2 = has("hw.optional.avx2_0") && has("hw.optional.fma") && has("hw.optional.f16c");
  return avx2 ? X86Level::kAvx2 : X86Level::kBaseline;
}

}  // namespace anelane::soft
#endif
