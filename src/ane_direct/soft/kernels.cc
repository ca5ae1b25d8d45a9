// Picks the kernels by asking the processor, once for each call: the answer never changes. Results of
// different levels may differ in last bits, which is why EngineInfo::dispatch names the one that runs.
#include "ane_direct/soft/kernels.h"

#if defined(ANELANE_X86_KERNELS)
#include <cpuid.h>
#endif

namespace anelane::soft {

extern const Kernels kKernelsBaseline;
#if defined(ANELANE_X86_KERNELS)
extern const Kernels kKernelsAvx2;
extern const Kernels kKernelsAvx512;
#endif

const Kernels* const* usable_kernels(size_t* count) {
#if defined(ANELANE_X86_KERNELS)
  static const Kernels* const kAll[] = {&kKernelsAvx512, &kKernelsAvx2, &kKernelsBaseline};
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c =
      __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;  // clang 14 has no name for it
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  const size_t skip = avx512 ? 0 : avx2 ? 1 : 2;
  *count = 3 - skip;
  return kAll + skip;
#else
  static const Kernels* const kAll[] = {&kKernelsBaseline};
  *count = 1;
  return kAll;
#endif
}

const Kernels& best_kernels() {
  size_t count = 0;
  return *usable_kernels(&count)[0];
}

}  // namespace anelane::soft
