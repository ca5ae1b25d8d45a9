// What the engine thread is doing, for the control thread to tell. Written once per request, with no lock.
#pragma once
#include <atomic>
#include <cstdint>

namespace anelane::worker {

struct Activity {
  std::atomic<uint64_t> request{0};
  std::atomic<uint64_t> since_ns{0};  // 0: idle
  std::atomic<uint64_t> steps{0};     // layers run for this request so far (embed, run of a checkpoint)
  std::atomic<bool> stopping{false};  // ends the work at the next layer, sequence or frame
};

}  // namespace anelane::worker
