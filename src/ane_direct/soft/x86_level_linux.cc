// The compiler's own look at the processor, which asks the system's part too (XCR0). No state.
#if defined(__x86_64__) && !defined(__APPLE__)
#include <cpuid.h>

#include "ane_direct/soft/x86_level.h"

namespace anelane::soft {

X86Level x86_level() {
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c =
      __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;  // clang 14 has no name for it
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (!avx2) return X86Level::kBaseline;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  return avx512 ? X86Level::kAvx512 : X86Level::kAvx2;
}

}  // namespace anelane::soft
#endif
