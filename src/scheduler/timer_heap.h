// Timers that are told the time: an indexed heap, so that arming and cancelling one of 10^5 timers is
// O(log n) and nothing is ever scanned. Timers due together fire by class, then in the order of arming.
//
// The classes are the order in which things due at one instant happen. One thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "scheduler/types.h"

namespace anelane::sched {

enum class TimerClass : uint8_t {
  kHandoff,  // a ticket's offer ends (L3.6)
  kReprice,  // a load runs too long (L4.6)
  kReclaim,  // pause before a refused admission is tried again (L4.15)
  kGate,     // the gate of a lost admission has been held long enough (L4.13)
  kExit,     // the exit of a process is overdue (L6.2)
  kDrain,    // leases have been waited for long enough (L6.3)
  kSpawn,    // a replacement may be started (L6.4)
  kDecide,   // something in the queue may have become startable (L4.3, L4.8)
  kPromise,  // a promised compile may be dropped (L4.10)
  kBound,    // a ticket's bound (L4.12)
};

class TimerHeap {
 public:
  using Handle = uint32_t;
  static constexpr Handle kNone = ~0u;
  struct Fired {
    TimerClass cls;
    void* subject;
  };

  Handle arm(Time due, TimerClass cls, void* subject);
  // Cancels if armed; the handle is kNone afterwards.
  void cancel(Handle& handle);
  Time next() const { return heap_.empty() ? kNever : heap_.front().due; }
  // The first timer due at `now` or before; false if there is none. Its handle is invalid from here on.
  bool pop(Time now, Fired* fired);
  size_t size() const { return heap_.size(); }
  // Every armed timer in the order in which they would fire: visit(due, class, subject).
  template <typename Visit>
  void each(Visit visit) const {
    std::vector<Item> items = heap_;
    std::sort(items.begin(), items.end(), before);
    for (const Item& item : items)
      visit(item.due, static_cast<TimerClass>(item.rank >> 56), nodes_[item.node].subject);
  }

 private:
  struct Item {
    Time due;
    uint64_t rank;  // class, then order of arming
    Handle node;
  };
  struct Node {
    uint32_t position = 0;  // in the heap; next free node while unused
    void* subject = nullptr;
  };
  static bool before(const Item& a, const Item& b) {
    return a.due != b.due ? a.due < b.due : a.rank < b.rank;
  }
  void put(size_t position, const Item& item);
  void sift_up(size_t position, Item item);
  void sift_down(size_t position, Item item);
  void erase(size_t position);

  std::vector<Item> heap_;
  std::vector<Node> nodes_;
  Handle free_ = kNone;
  uint64_t armed_ = 0;
};

}  // namespace anelane::sched
