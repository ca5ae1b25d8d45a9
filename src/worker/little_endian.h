// Integers as little-endian bytes, whatever the processor's own order and alignment.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace anelane::worker {

inline void append_u32(std::string* out, uint32_t v) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(v >> shift));
}
inline void append_u64(std::string* out, uint64_t v) {
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(v >> shift));
}
inline uint32_t read_u32(const char* p) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v |= static_cast<uint32_t>(static_cast<uint8_t>(p[i])) << (8 * i);
  return v;
}
inline uint64_t read_u64(const char* p) {
  return read_u32(p) | (static_cast<uint64_t>(read_u32(p + 4)) << 32);
}

}  // namespace anelane::worker
