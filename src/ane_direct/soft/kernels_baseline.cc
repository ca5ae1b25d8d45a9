// The baseline of every processor: 4 lanes in the compiler's own vector types (SSE2 on x86-64, NEON on
// arm64), panels of 8 columns (6 × 2 accumulators of 16 registers). No fused multiply-add and no fp16
// instructions are assumed; the conversions are integer arithmetic, four lanes at a time.
#include "ane_direct/soft/kernels.h"

namespace anelane::soft {
namespace {

using Vec = float __attribute__((vector_size(16)));
using Bits = int32_t __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(16)));  // where sums may wrap
constexpr size_t kLanes = 4;
constexpr size_t kColumnVecs = 2;

inline Bits all_bits(int32_t x) {
  return Bits{x, x, x, x};
}
inline Vec all(float x) {
  return Vec{x, x, x, x};
}
inline Bits bits_of(Vec v) {
  return reinterpret_cast<Bits>(v);
}
inline Vec from_bits(Bits b) {
  return reinterpret_cast<Vec>(b);
}
inline Bits choose(Bits mask, Bits yes, Bits no) {
  return (mask & yes) | (~mask & no);
}
inline Vec choose(Bits mask, Vec yes, Vec no) {
  return from_bits(choose(mask, bits_of(yes), bits_of(no)));
}

inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}
inline Vec add_(Vec a, Vec b) {
  return a + b;
}
inline Vec sub_(Vec a, Vec b) {
  return a - b;
}
inline Vec mul_(Vec a, Vec b) {
  return a * b;
}
inline Vec div_(Vec a, Vec b) {
  return a / b;
}
inline Vec max_(Vec a, Vec b) {
  return choose(a > b, a, b);
}  // as the x86 instructions: b when unordered
inline Vec min_(Vec a, Vec b) {
  return choose(a < b, a, b);
}
inline Vec fma_(Vec a, Vec b, Vec c) {
  return a * b + c;
}
inline Vec sqrt_(Vec a) {
  return Vec{__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
inline Vec load_half(const uint16_t* p) {
  const Bits half = {p[0], p[1], p[2], p[3]};
  const Bits magnitude = half & all_bits(0x7fff);
  const Bits sign = (half & all_bits(0x8000)) << 16;
  // Exponent and mantissa moved into place, then scaled by 2^112: exact, denormals included.
  const Bits finite = bits_of(from_bits(magnitude << 13) * all(0x1p112f));
  const Bits special = (magnitude << 13) | all_bits(0x7f800000);
  return from_bits(sign | choose(magnitude >= all_bits(0x7c00), special, finite));
}
inline void store_half(uint16_t* p, Vec v) {
  const Bits bits = bits_of(v);
  const Bits sign = (bits >> 16) & all_bits(0x8000);
  const Bits magnitude = bits & all_bits(0x7fffffff);
  const Words wide = reinterpret_cast<Words>(magnitude);
  const Bits normal = reinterpret_cast<Bits>((wide + 0xfffu + ((wide >> 13) & 1u) - 0x38000000u) >> 13);
  // Below 2^-14 the sum with 0.5 has the result in its last bits, rounded to even by the addition.
  const Bits tiny = bits_of(from_bits(magnitude) + all(0.5f)) - all_bits(0x3f000000);
  const Bits nan = all_bits(0x7e00) | ((magnitude >> 13) & all_bits(0x3ff));
  Bits out = choose(magnitude < all_bits(0x38800000), tiny, normal);
  out = choose(magnitude >= all_bits(0x477ff000), all_bits(0x7c00), out);
  out = sign | choose(magnitude > all_bits(0x7f800000), nan, out);
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint16_t>(out[i]);
}
inline Vec zero_nan(Vec v) {
  return from_bits(bits_of(v) & (v == v));
}
inline Vec one_if_equal(Vec a, Vec b, Vec other) {
  return choose(a == b, all(1.0f), other);
}
// Magnitudes of `ceiling` and more become infinite, with their sign.
inline Vec exceeds(Vec v, float ceiling) {
  const Vec magnitude = from_bits(bits_of(v) & all_bits(0x7fffffff));
  return choose(magnitude >= all(ceiling), v * all(3.4e38f), v);
}
inline Vec exp2_int(Vec n) {
  const Bits whole = {static_cast<int32_t>(n[0]), static_cast<int32_t>(n[1]), static_cast<int32_t>(n[2]),
                      static_cast<int32_t>(n[3])};
  return from_bits((whole + all_bits(127)) << 23);
}

#include "ane_direct/soft/kernels_body.inc"

}  // namespace

extern const Kernels kKernelsBaseline;
const Kernels kKernelsBaseline = make_kernels("baseline");

}  // namespace anelane::soft
