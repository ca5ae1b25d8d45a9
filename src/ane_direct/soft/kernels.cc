// Picks the kernels by asking the processor, once for each call: the answer never changes. Results of
// different levels may differ in last bits, which is why EngineInfo::dispatch names the one that runs.
#include "ane_direct/soft/kernels.h"

#include <iterator>

#if defined(ANELANE_X86_KERNELS)
#include "ane_direct/soft/x86_level.h"
#endif

namespace anelane::soft {

extern const Kernels kKernelsBaseline;
#if defined(ANELANE_X86_KERNELS)
extern const Kernels kKernelsAvx2;
#endif
#if defined(ANELANE_AVX512_KERNELS)
extern const Kernels kKernelsAvx512;
#endif

const Kernels* const* usable_kernels(size_t* count) {
  static const Kernels* const kAll[] = {
#if defined(ANELANE_AVX512_KERNELS)
    &kKernelsAvx512,
#endif
#if defined(ANELANE_X86_KERNELS)
    &kKernelsAvx2,
#endif
    &kKernelsBaseline
  };
  *count = 1;
#if defined(ANELANE_X86_KERNELS)
  const X86Level level = x86_level();
  if (level >= X86Level::kAvx2) *count = 2;
#endif
#if defined(ANELANE_AVX512_KERNELS)
  if (level >= X86Level::kAvx512) *count = 3;
#endif
  return kAll + (std::size(kAll) - *count);
}

const Kernels& best_kernels() {
  size_t count = 0;
  return *usable_kernels(&count)[0];
}

}  // namespace anelane::soft
