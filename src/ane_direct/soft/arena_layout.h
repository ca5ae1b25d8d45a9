// Which bytes of the arena each buffer gets, from the steps between which it is alive.
#pragma once
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace anelane::soft {

struct ArenaBuffer {
  uint64_t bytes = 0;
  uint32_t first_step = 0;  // written by this step
  uint32_t last_step = 0;   // read by this step at the latest
  uint64_t offset = 0;      // the answer
};

// Two buffers that are alive in one step never share a byte. Returns the arena's size.
uint64_t place_buffers(std::vector<ArenaBuffer>* buffers);

}  // namespace anelane::soft
