// A program as the engine takes it: MIL text, one weight blob, an options plist. A pure value: the same
// layer at the same shape gives the same bytes in every process (L8.1), so that the content identifier
// (content_id.h) finds what the daemon compiled before.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace anelane {

struct Program {
  std::string mil;               // UTF-8, no trailing NUL
  std::vector<uint8_t> weights;  // the bytes of weights/weight.bin; empty: no weight file
  std::string options;           // compiler options plist; "" = none
};

}  // namespace anelane
