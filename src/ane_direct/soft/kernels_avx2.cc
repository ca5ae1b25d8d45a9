// AVX2 with FMA and F16C: 8 lanes, panels of 16 columns (6 × 2 accumulators of 16 registers). Compiled with
// its own flags; called only after the processor was asked (kernels.cc).
#include <immintrin.h>

#include "ane_direct/soft/kernels.h"

namespace anelane::soft {
namespace {

using Vec = __m256;
constexpr size_t kLanes = 8;
constexpr size_t kColumnVecs = 2;

inline Vec load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline void store(float* p, Vec v) {
  _mm256_storeu_ps(p, v);
}
inline Vec all(float x) {
  return _mm256_set1_ps(x);
}
inline Vec add_(Vec a, Vec b) {
  return _mm256_add_ps(a, b);
}
inline Vec sub_(Vec a, Vec b) {
  return _mm256_sub_ps(a, b);
}
inline Vec mul_(Vec a, Vec b) {
  return _mm256_mul_ps(a, b);
}
inline Vec div_(Vec a, Vec b) {
  return _mm256_div_ps(a, b);
}
inline Vec max_(Vec a, Vec b) {
  return _mm256_max_ps(a, b);
}
inline Vec min_(Vec a, Vec b) {
  return _mm256_min_ps(a, b);
}
inline Vec fma_(Vec a, Vec b, Vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vec sqrt_(Vec a) {
  return _mm256_sqrt_ps(a);
}
inline Vec load_half(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void store_half(uint16_t* p, Vec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
inline Vec zero_nan(Vec v) {
  return _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
}
inline Vec one_if_equal(Vec a, Vec b, Vec other) {
  return _mm256_blendv_ps(other, all(1.0f), _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}
// Magnitudes of `ceiling` and more become infinite, with their sign.
inline Vec exceeds(Vec v, float ceiling) {
  const Vec magnitude = _mm256_andnot_ps(all(-0.0f), v);
  return _mm256_blendv_ps(v, mul_(v, all(3.4e38f)), _mm256_cmp_ps(magnitude, all(ceiling), _CMP_GE_OQ));
}
inline Vec exp2_int(Vec n) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}

#include "ane_direct/soft/kernels_body.inc"

}  // namespace

extern const Kernels kKernelsAvx2;
const Kernels kKernelsAvx2 = make_kernels("avx2");

}  // namespace anelane::soft
