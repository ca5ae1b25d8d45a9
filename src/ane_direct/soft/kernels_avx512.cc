// AVX-512: 16 lanes, panels of 64 columns (6 × 4 accumulators of 32 registers). Compiled with its own flags;
// called only after the processor was asked (kernels.cc).
#include <immintrin.h>

#include "ane_direct/soft/kernels.h"

namespace anelane::soft {
namespace {

using Vec = __m512;
constexpr size_t kLanes = 16;
constexpr size_t kColumnVecs = 4;

inline Vec load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline void store(float* p, Vec v) {
  _mm512_storeu_ps(p, v);
}
inline Vec all(float x) {
  return _mm512_set1_ps(x);
}
inline Vec add_(Vec a, Vec b) {
  return _mm512_add_ps(a, b);
}
inline Vec sub_(Vec a, Vec b) {
  return _mm512_sub_ps(a, b);
}
inline Vec mul_(Vec a, Vec b) {
  return _mm512_mul_ps(a, b);
}
inline Vec div_(Vec a, Vec b) {
  return _mm512_div_ps(a, b);
}
inline Vec max_(Vec a, Vec b) {
  return _mm512_max_ps(a, b);
}
inline Vec min_(Vec a, Vec b) {
  return _mm512_min_ps(a, b);
}
inline Vec fma_(Vec a, Vec b, Vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vec sqrt_(Vec a) {
  return _mm512_sqrt_ps(a);
}
inline Vec load_half(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void store_half(uint16_t* p, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline Vec zero_nan(Vec v) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
}
inline Vec one_if_equal(Vec a, Vec b, Vec other) {
  return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), all(1.0f));
}
// Magnitudes of `ceiling` and more become infinite, with their sign.
inline Vec exceeds(Vec v, float ceiling) {
  const __mmask16 over = _mm512_cmp_ps_mask(_mm512_abs_ps(v), all(ceiling), _CMP_GE_OQ);
  return _mm512_mask_mul_ps(v, over, v, all(3.4e38f));
}
inline Vec exp2_int(Vec n) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
}

#include "ane_direct/soft/kernels_body.inc"

}  // namespace

extern const Kernels kKernelsAvx512;
const Kernels kKernelsAvx512 = make_kernels("avx512");

}  // namespace anelane::soft
