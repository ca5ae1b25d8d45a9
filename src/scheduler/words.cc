// Everything that callers and the driver write and the scheduler reads, in one place, so that a history can
// be recorded and replayed (Observer).
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {

namespace {
uint64_t seen(Observer* observer, const Shape& s, Observer::Read what, uint64_t value) {
  return observer == nullptr ? value : observer->read(s.worker->id, s.rung, what, value);
}
}  // namespace

// Asks to be told of the last release in the same atomic step that finds a lease, so that none is missed.
bool Scheduler::Core::unleased(Shape& s) {
  if (s.state == SlotState::kAbsent) return true;
  if (seen(observer_, s, Observer::Read::kLeases, s.gate->leases()) == 0) return true;
  if (ANELANE_BUG(31)) return false;
  s.wake = true;
  s.wake_round = round_;
  return seen(observer_, s, Observer::Read::kAskedWake, s.gate->ask_wake() ? 1 : 0) == 0;
}

// Nobody asked in this step: releases need not be told any more.
void Scheduler::Core::forget_wakes() {
  for (Shape* s : charged_) {
    if (!s->wake || s->wake_round == round_) continue;
    s->wake = false;
    s->gate->stop_wake();
  }
}

Time Scheduler::Core::last_use(const Shape& s) {
  const auto value = static_cast<uint64_t>(s.gate->last_use());
  return static_cast<Time>(seen(observer_, s, Observer::Read::kLastUse, value));
}

bool Scheduler::Core::close_if_unleased(Shape& s) {
  return seen(observer_, s, Observer::Read::kClosed, s.gate->close_if_unleased() ? 1 : 0) != 0;
}

void Scheduler::Core::hold(Shape& s, bool held) {
  if (s.held == held) return;
  s.held = held;
  s.gate->set_hold(held);
}

void Scheduler::Core::hinted(const Worker& w) {
  hints_changed_ |= !nothing_pending();
  if (observer_ != nullptr) observer_->hinted(w.id, w.stream_idle, w.blocked);
}

// L3.7's idleness. What was dispatched in this step is not in the driver's hint yet.
bool Scheduler::Core::busy(const Worker& w) const {
  const bool dispatched = w.admission.active() && w.admission.phase <= AdmissionPhase::kSent;
  return !w.stream_idle || dispatched || w.slots_evicting > 0;
}

void Scheduler::Core::set_state(Shape& s, SlotState to) {
  check(slot_may_become(s.state, to), "a slot took a way that L3.1 does not have");
  const bool was_charged = s.state != SlotState::kAbsent;
  s.state = to;
  if (was_charged == (to != SlotState::kAbsent)) return;
  const auto by_name = [](const Shape* a, const Shape* b) {
    return a->worker->id != b->worker->id ? a->worker->id < b->worker->id : a->rung < b->rung;
  };
  const auto at = std::lower_bound(charged_.begin(), charged_.end(), &s, by_name);
  if (to == SlotState::kAbsent) {
    charged_.erase(at);
    ledger_.refund(*s.worker);
  } else {
    charged_.insert(at, &s);
    ledger_.charge(*s.worker);
    check(ledger_.within_limits(), "more is charged than the limits allow (L3.1)");
  }
}

}  // namespace anelane::sched
