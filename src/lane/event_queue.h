// What the scheduler is to be told, in order, but for one thing: what has reached a worker cannot be taken
// back (L3.7), so the scheduler hears of it before it decides anything else.
#pragma once
#include <deque>

#include "scheduler/types.h"

namespace anelane {

class EventQueue {
 public:
  void push(const sched::Event& event) { (is_sent(event) ? sent_ : others_).push_back(event); }
  bool empty() const { return sent_.empty() && others_.empty(); }
  sched::Event pop() {
    std::deque<sched::Event>& from = sent_.empty() ? others_ : sent_;
    const sched::Event event = from.front();
    from.pop_front();
    return event;
  }

 private:
  static bool is_sent(const sched::Event& event) {
    return event.kind == sched::EventKind::kAdmissionSent || event.kind == sched::EventKind::kEvictionSent;
  }
  std::deque<sched::Event> sent_, others_;
};

}  // namespace anelane
