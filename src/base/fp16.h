// IEEE binary16 as a bare 16-bit pattern: conversion by the rules of the engine's storage, round half to
// even (numerics N4). Portable; the soft engine's kernels have vectorised twins that must give the same bits.
#pragma once
#include <bit>
#include <cstdint>

namespace anelane {

using Half = uint16_t;

inline float half_to_float(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exp = (h >> 10) & 0x1fu;
  uint32_t man = h & 0x3ffu;
  if (exp == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (man << 13));
  if (exp != 0) return std::bit_cast<float>(sign | ((exp + 112) << 23) | (man << 13));
  if (man == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(man) - 21;  // brings the leading one to bit 10
  man = (man << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | (static_cast<uint32_t>(113 - shift) << 23) | (man << 13));
}

inline Half float_to_half(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t mag = bits & 0x7fffffffu;
  if (mag > 0x7f800000u) return static_cast<Half>(sign | 0x7e00u | ((mag >> 13) & 0x3ffu));  // NaN stays NaN
  if (mag >= 0x477ff000u) return static_cast<Half>(sign | 0x7c00u);  // rounds past 65504
  if (mag >= 0x38800000u) {                                          // normal
    const uint32_t rounded = mag + 0xfffu + ((mag >> 13) & 1u);
    return static_cast<Half>(sign | ((rounded - 0x38000000u) >> 13));
  }
  if (mag < 0x33000000u) return static_cast<Half>(sign);  // below half of the smallest denormal
  const uint32_t exp = mag >> 23;
  const uint32_t man = (mag & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126 - exp;  // 14..24
  const uint32_t half = 1u << (shift - 1);
  const uint32_t rest = man & ((1u << shift) - 1);
  uint32_t out = man >> shift;
  if (rest > half || (rest == half && (out & 1u) != 0)) ++out;
  return static_cast<Half>(sign | out);
}

}  // namespace anelane
