// One waiting request, and the table that finds it by its id. Tickets never move in memory; they are linked
// into the list of the shape that they wait for (demand.h).
//
// States: waiting (for an admission, a hold or an eviction to end) → offered (L3.6) → lost (offer over, the
// caller has not come) → waiting again. A ticket leaves the table when it is granted or answered: once.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/timer_heap.h"
#include "scheduler/types.h"

namespace anelane::sched {

struct Shape;

enum class TicketState : uint8_t { kWaiting, kOffered, kLost };

struct Ticket {
  TicketId id = 0;
  Shape* shape = nullptr;
  Time arrival = 0;    // anew when it queues anew (L3.7)
  uint64_t order = 0;  // of arrival, unique; anew with `arrival`
  Time bound = kNever;
  bool deadline_bound = false;  // the bound is the caller's own deadline
  bool pin = true;
  bool take_at_once = true;
  bool packed = false;
  TicketState state = TicketState::kWaiting;
  uint32_t offers = 0;  // made so far
  Ticket* previous = nullptr;
  Ticket* next = nullptr;
  Ticket* below[2] = {nullptr, nullptr};  // in the tree of bounds (demand.h)
  TimerHeap::Handle bound_timer = TimerHeap::kNone;
  TimerHeap::Handle offer_timer = TimerHeap::kNone;
};

class TicketTable {
 public:
  TicketTable();
  Ticket* add(TicketId id);  // nullptr: that id is in use
  Ticket* find(TicketId id) const;
  void remove(Ticket* ticket);
  size_t size() const { return used_; }

 private:
  size_t home(TicketId id) const { return (id * 0x9e3779b97f4a7c15ull) >> shift_; }
  void grow();

  std::deque<Ticket> pool_;
  std::vector<Ticket*> free_;
  std::vector<Ticket*> slots_;  // open addressing, for look-up only: never iterated in a decision
  int shift_ = 0;
  size_t used_ = 0;
};

// A list of tickets in order of joining.
class TicketList {
 public:
  Ticket* first() const { return first_; }
  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void push_back(Ticket* t);
  void remove(Ticket* t);

 private:
  Ticket* first_ = nullptr;
  Ticket* last_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace anelane::sched
