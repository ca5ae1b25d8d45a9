// The indexed binary heap of timer_heap.h. Invariant: nodes_[heap_[i].node].position == i, and no item is
// before its parent. Unused nodes form a list through `position`.
#include "scheduler/timer_heap.h"

namespace anelane::sched {

TimerHeap::Handle TimerHeap::arm(Time due, TimerClass cls, void* subject) {
  Handle handle = free_;
  if (handle == kNone) {
    handle = static_cast<Handle>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[handle].position;
  }
  nodes_[handle].subject = subject;
  heap_.emplace_back();
  sift_up(heap_.size() - 1, Item{due, (static_cast<uint64_t>(cls) << 56) | ++armed_, handle});
  return handle;
}

void TimerHeap::cancel(Handle& handle) {
  if (handle == kNone) return;
  erase(nodes_[handle].position);
  handle = kNone;
}

bool TimerHeap::pop(Time now, Fired* fired) {
  if (heap_.empty() || heap_.front().due > now) return false;
  const Item& first = heap_.front();
  *fired = {static_cast<TimerClass>(first.rank >> 56), nodes_[first.node].subject};
  erase(0);
  return true;
}

void TimerHeap::put(size_t position, const Item& item) {
  heap_[position] = item;
  nodes_[item.node].position = static_cast<uint32_t>(position);
}

void TimerHeap::sift_up(size_t position, Item item) {
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (!before(item, heap_[parent])) break;
    put(position, heap_[parent]);
    position = parent;
  }
  put(position, item);
}

void TimerHeap::sift_down(size_t position, Item item) {
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], item)) break;
    put(position, heap_[child]);
    position = child;
  }
  put(position, item);
}

void TimerHeap::erase(size_t position) {
  const Handle handle = heap_[position].node;
  const Item last = heap_.back();
  heap_.pop_back();
  if (position < heap_.size()) {
    if (position > 0 && before(last, heap_[(position - 1) / 2]))
      sift_up(position, last);
    else
      sift_down(position, last);
  }
  nodes_[handle].subject = nullptr;
  nodes_[handle].position = free_;
  free_ = handle;
}

}  // namespace anelane::sched
