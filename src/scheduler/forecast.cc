// Predictions and what follows from them: early answers (L4.9), the guard against overtaking at an accepted
// request's cost (L4.11), the last clause of L3.5.
//
// Predicted delay = max(rest of the gate's holder and of the own worker's admission, rest of the own settle)
// + costs ahead at the same gate + own cost. Workers whose process is not in service are left out, unknown
// costs count as nothing, remaining times are never negative. Ready exactly at the bound is in time.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr uint64_t kVagueRetryMs = 250;
void later(Delay& delay, const Delay& other) {
  delay.us = std::max(delay.us, other.us);
  delay.vague |= other.vague;
}
}  // namespace

Delay Scheduler::Core::remaining(const Admission& a) const {
  if (!a.active() || a.phase == AdmissionPhase::kLost || a.shape->worker->exit_pending()) return {};
  if (a.predicted == kUnknown) return {0, true};
  const Time left = a.predicted - (a.phase == AdmissionPhase::kSent ? now_ - a.sent_at : 0);
  return left < 0 ? Delay{0, true} : Delay{left, false};
}

Delay Scheduler::Core::holder_remaining(GateKind kind) const {
  Delay delay;
  for (const Worker* w : gate(kind).holders) later(delay, remaining(w->admission));
  delay.us = std::max(delay.us, gate(kind).shut_until - now_);
  return delay;
}

Delay Scheduler::Core::forecast(const Shape& s) {
  if (s.state == SlotState::kAdmitting) return remaining(s.worker->admission);
  const bool is_head = s.queued && stand(gate_of(s)).head == &s;
  return forecast_as(s, s.place, is_head, s.own.arrival);
}

Delay Scheduler::Core::forecast_as(const Shape& s, const QueueKey& place, bool is_head, Time arrival) {
  const GateKind kind = gate_of(s);
  Delay delay = holder_remaining(kind);
  later(delay, remaining(s.worker->admission));
  const Time cost = cost_of(s);
  if (cost != kUnknown) delay.us = std::max(delay.us, arrival + options_.settle - now_);
  if (!is_head) {
    for (const Shape* ahead : queue_) {
      if (!(ahead->place < place)) break;
      if (ahead == &s || gate_of(*ahead) != kind || !ahead->worker->serves() || passed_over(*ahead)) continue;
      const Time other = cost_of(*ahead);
      if (other == kUnknown)
        delay.vague = true;
      else
        delay.us += other;
    }
  }
  if (cost == kUnknown)
    delay.vague = true;
  else
    delay.us += cost;
  return delay;
}

uint64_t Scheduler::Core::retry_ms(const Delay& delay) const {
  const uint64_t ms = (static_cast<uint64_t>(delay.us) + 999) / 1000;
  if (ANELANE_BUG(17)) return static_cast<uint64_t>(delay.us) / 1000;
  return std::max<uint64_t>(ms, delay.vague ? kVagueRetryMs : 1);
}

// Answers every ticket of the entry that is predicted ready after its bound. True: somebody was answered.
bool Scheduler::Core::judge(Shape& s) {
  const Delay delay = forecast(s);
  const Time ready = now_ + delay.us;
  if (s.demand.bound_before(ready) == nullptr) return false;
  promise(s, retry_ms(delay));
  while (Ticket* t = s.demand.bound_before(ready)) answer(t, Code::kShapeCompiling, retry_ms(delay));
  return true;
}

// At arrival.
void Scheduler::Core::judge_one(Ticket* t) {
  Shape& s = *t->shape;
  const Delay delay = forecast(s);
  if (now_ + delay.us <= t->bound || ANELANE_BUG(30)) return;
  promise(s, retry_ms(delay));
  answer(t, Code::kShapeCompiling, retry_ms(delay));
}

// After a repricing (L4.6).
void Scheduler::Core::judge_everybody() {
  const std::vector<Shape*> entries = queue_;
  for (Shape* s : charged_)
    if (s->state == SlotState::kAdmitting) judge(*s);
  for (Shape* s : entries)
    if (s->queued) judge(*s);
}

bool Scheduler::Core::costs_a_bound(const Shape& victim, Time without, Time with) const {
  return victim.demand.bound_within(without, with);
}

// L3.5: no entry starts past another if, by prediction, that costs a ticket waiting there its bound.
bool Scheduler::Core::may_start_past(const Shape& s) {
  const Time cost = cost_of(s);
  if (cost == kUnknown || ANELANE_BUG(2)) return true;
  const GateKind kind = gate_of(s);
  for (const Shape* other : queue_) {
    if (!(other->place < s.place)) break;
    if (other->demand.empty() || gate_of(*other) != kind || !other->worker->serves()) continue;
    const Delay without = forecast(*other);
    // What it waits for anyway, against the time that this start takes.
    Time waits = remaining(other->worker->admission).us;
    const Time own = cost_of(*other);
    if (own != kUnknown) waits = std::max(waits, other->own.arrival + options_.settle - now_);
    const Time extra = std::max<Time>(0, cost - std::max<Time>(0, waits));
    if (costs_a_bound(*other, now_ + without.us, now_ + without.us + extra)) return false;
  }
  return true;
}

}  // namespace anelane::sched
