// First fit over a list of free gaps, in the order in which buffers come alive; gaps are joined when buffers
// die. Offsets are multiples of 64 bytes. The order depends on the steps only, so a program always gets the
// same layout.
#include "ane_direct/soft/arena_layout.h"

#include <algorithm>
#include <map>

namespace anelane::soft {
namespace {

constexpr uint64_t kAlign = 64;

class Gaps {
 public:
  uint64_t take(uint64_t bytes) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      if (gap->second < bytes) continue;
      const uint64_t offset = gap->first;
      const uint64_t rest = gap->second - bytes;
      gaps_.erase(gap);
      if (rest != 0) gaps_.emplace(offset + bytes, rest);
      return offset;
    }
    // The arena grows; a gap at its end is used up first.
    uint64_t offset = end_;
    if (!gaps_.empty()) {
      const auto last = std::prev(gaps_.end());
      if (last->first + last->second == end_) {
        offset = last->first;
        gaps_.erase(last);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void give(uint64_t offset, uint64_t bytes) {
    const auto [at, fresh] = gaps_.emplace(offset, bytes);
    const auto next = std::next(at);
    if (next != gaps_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      gaps_.erase(next);
    }
    if (at == gaps_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second != at->first) return;
    before->second += at->second;
    gaps_.erase(at);
  }
  uint64_t end() const { return end_; }

 private:
  std::map<uint64_t, uint64_t> gaps_;  // offset → bytes
  uint64_t end_ = 0;
};

}  // namespace

uint64_t place_buffers(std::vector<ArenaBuffer>* buffers) {
  std::vector<ArenaBuffer*> order;
  for (ArenaBuffer& buffer : *buffers) {
    buffer.bytes = (buffer.bytes + kAlign - 1) / kAlign * kAlign;
    order.push_back(&buffer);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const ArenaBuffer* a, const ArenaBuffer* b) { return a->first_step < b->first_step; });
  Gaps gaps;
  std::multimap<uint32_t, const ArenaBuffer*> alive;  // by last step
  for (ArenaBuffer* buffer : order) {
    while (!alive.empty() && alive.begin()->first < buffer->first_step) {
      gaps.give(alive.begin()->second->offset, alive.begin()->second->bytes);
      alive.erase(alive.begin());
    }
    buffer->offset = gaps.take(buffer->bytes);
    alive.emplace(std::max(buffer->last_step, buffer->first_step), buffer);
  }
  return gaps.end();
}

}  // namespace anelane::soft
