// Numerics N12 and its section 5: tiles of four consecutive lanes are summed first, each addition on a grid
// of half a unit of fp16 of the larger operand (one guard bit, truncated, not renormalised), then the tile
// goes into an fp32 accumulator. On a multiply-accumulate any magnitude of 2^15 in that accumulator, final or
// interior, is infinite for good (N13, N14). Products of two fp16 values are exact (N18).
//
// This is the oracle for tests of what the hardware does to sums. It is slow; the "fast" profile instead adds
// in plain fp32, applies the ceiling of 2^15 to the final sum only, keeps denormals, and adds bias in fp32.
#include "ane_direct/soft/lattice.h"

#include <cmath>

namespace anelane::soft {
namespace {

constexpr size_t kTile = 4;
constexpr float kCeiling = 32768.0f;
constexpr float kSmallestNormal = 0x1p-14f;

double grid_add(double a, double b) {
  const double larger = std::fmax(std::fabs(a), std::fabs(b));
  if (larger == 0 || std::isinf(larger) || std::isnan(a) || std::isnan(b)) return a + b;
  const double grid = std::ldexp(1.0, std::ilogb(larger) - 11);
  return std::trunc(a / grid) * grid + std::trunc(b / grid) * grid;
}

}  // namespace

void LatticeSum::add(float term) {
  partial_ = grid_add(partial_, static_cast<double>(std::isnan(term) ? 0.0f : term));  // 0 · inf is +0 (N23)
  if (++lanes_ == kTile) close_tile();
}

void LatticeSum::close_tile() {
  accumulator_ += static_cast<float>(partial_);
  partial_ = 0;
  lanes_ = 0;
  if (ceiling_ && !overflowed_ && std::fabs(accumulator_) >= kCeiling) {
    accumulator_ = std::copysign(HUGE_VALF, accumulator_);
    overflowed_ = true;
  }
}

float LatticeSum::total() {
  if (lanes_ != 0) close_tile();
  return std::isnan(accumulator_) ? 0.0f : accumulator_;
}

Half lattice_store(float total) {
  return std::fabs(total) < kSmallestNormal ? Half{0} : float_to_half(total);
}

Half lattice_bias(Half value, Half bias) {
  const float sum = half_to_float(value) + half_to_float(bias);
  return std::isnan(sum) ? Half{0} : float_to_half(sum);
}

}  // namespace anelane::soft
