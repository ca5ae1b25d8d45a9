// A compiled plan of any bytes. The input is a plan without its footer: the right one is put behind it, or
// nothing but the hash would ever be tested.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ane_direct/soft/plan_codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  for (size_t i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(hash >> (8 * i)));
  const auto decoded = anelane::soft::decode_plan(bytes);
  if (decoded.ok() && !anelane::soft::check_plan(decoded->plan, decoded->weights.size()).ok())
    __builtin_trap();
  return 0;
}
