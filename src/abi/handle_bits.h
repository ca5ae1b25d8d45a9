// The bits of a handle: kind 4 | generation 36 | index 24.
#pragma once
#include <cstdint>

namespace anelane::abi {

enum class Kind : uint64_t { kLane = 1, kModel = 2, kLease = 3, kOp = 4, kTokenizer = 5 };

inline constexpr int kIndexBits = 24;
inline constexpr int kGenerationBits = 36;
inline constexpr uint64_t kIndexMask = (1ull << kIndexBits) - 1;
inline constexpr uint64_t kGenerationMask = (1ull << kGenerationBits) - 1;

constexpr uint64_t make_bits(Kind kind, uint64_t generation, uint64_t index) {
  return (static_cast<uint64_t>(kind) << (kIndexBits + kGenerationBits)) |
         ((generation & kGenerationMask) << kIndexBits) | index;
}
constexpr bool is_kind(uint64_t bits, Kind kind) {
  return (bits >> (kIndexBits + kGenerationBits)) == static_cast<uint64_t>(kind);
}
constexpr uint64_t index_of(uint64_t bits) {
  return bits & kIndexMask;
}
constexpr uint64_t generation_of(uint64_t bits) {
  return (bits >> kIndexBits) & kGenerationMask;
}

}  // namespace anelane::abi
