// The tickets that wait for one shape, in two orders: of joining (who is served first) and of bounds (whom a
// prediction makes too late). Both are needed without a scan: 10^5 tickets may wait for one shape.
#pragma once
#include "scheduler/ticket.h"

namespace anelane::sched {

class Demand {
 public:
  void join(Ticket* t);
  void leave(Ticket* t);
  Ticket* first() const { return list_.first(); }
  uint32_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }

  // The ticket with the earliest bound, if that is before `time`.
  Ticket* bound_before(Time time) const;
  // Is there a bound in [from, to)?
  bool bound_within(Time from, Time to) const;

 private:
  TicketList list_;
  Ticket* root_ = nullptr;
};

}  // namespace anelane::sched
