// Requests: refused at once, granted at once, or waiting; cancelled; answered at their bound (L4.12). A
// ticket leaves through leave(), once, whatever its answer is.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr uint64_t kNoRoomRetryMs = 250;
}

void Scheduler::Core::request(const Event& e) {
  Worker* w = find(e.worker);
  Action refusal{.kind = ActionKind::kAnswer, .worker = e.worker, .rung = e.rung, .ticket = e.ticket};
  if (stopped_ || w == nullptr || w->state == WorkerState::kRetired) {
    refusal.code = stopped_ ? stop_code_ : Code::kRetired;
    refusal.retry_after_ms = code_info(refusal.code).retry_after_ms;
    actions_.push_back(refusal);
    ++counts_.answered;
    return;
  }
  if (const Refusal no = this->refusal(*w, e.rung); no.code != Code::kOk) {
    refusal.code = no.code;
    refusal.retry_after_ms = no.retry_after_ms;
    actions_.push_back(refusal);
    ++counts_.answered;
    return;
  }
  Shape& s = w->shapes[e.rung];
  if (grant_at_once(s, e.ticket, e.pin)) {
    quiet_event_ = nothing_pending();
    return;
  }
  Ticket* t = tickets_.size() < options_.max_waiting ? tickets_.add(e.ticket) : nullptr;
  if (t == nullptr) {
    refusal.code =
        tickets_.size() < options_.max_waiting ? Code::kInvalidArgument : Code::kResourcesExhausted;
    refusal.retry_after_ms = code_info(refusal.code).retry_after_ms;
    actions_.push_back(refusal);
    ++counts_.answered;
    return;
  }
  t->shape = &s;
  t->pin = e.pin;
  t->take_at_once = e.take_at_once;
  t->packed = e.packed;
  const Time backstop = now_ + options_.admission_bound;
  t->deadline_bound = e.deadline < backstop;
  t->bound = t->deadline_bound ? e.deadline : backstop;
  quiet_event_ = !s.demand.empty() && !head_blocked_;  // it joins others: the first of them decides
  if (!ANELANE_BUG(14)) t->bound_timer = timers_.arm(t->bound, TimerClass::kBound, t);
  wait_for(t);
}

// What needs no ticket, because the answer is known: kOk if there is none.
Scheduler::Core::Refusal Scheduler::Core::refusal(const Worker& w, uint32_t rung) const {
  const auto by_default = [](Code code) { return Refusal{code, code_info(code).retry_after_ms}; };
  if (w.retire_asked) return by_default(Code::kRetired);
  if (rung >= w.shapes.size()) return by_default(Code::kShapeUnknown);
  if (!ledger_.possible(w.layers)) return {Code::kResourcesExhausted, 0};             // L2.4: for good
  if (w.state == WorkerState::kUnconfirmed) return by_default(Code::kEngineCrashed);  // L6.2
  if (w.held_back()) return {Code::kEngineCrashed, probe_ms(w)};                      // L6.4
  // L4.16: of a compile; what another worker of the program could not, this one may have done already.
  const SlotState state = w.shapes[rung].state;
  if (w.serves() && (state == SlotState::kResident || state == SlotState::kAdmitting)) return {};
  return by_default(failures_.recall(w.program, w.ladder[rung], now_));
}

// A resident shape that nothing holds back. Here the slow path and the fast path meet.
bool Scheduler::Core::grant_at_once(Shape& s, TicketId id, bool pin) {
  const bool revived = ANELANE_BUG(12) && s.state == SlotState::kEvicting;
  if ((s.state != SlotState::kResident && !revived) || !s.worker->serves() || (s.held && !revived) ||
      !s.demand.empty())
    return false;
  if (pin) {
    s.gate->lease_held();
    s.gate->set_last_use(now_);
  }
  Action& a = act_on(pin ? ActionKind::kGrant : ActionKind::kAnswer, s);
  a.ticket = id;
  if (!pin) ++counts_.answered;
  return true;
}

// Joins what there is for its shape: the admission, the entry, the hold, the end of an eviction (L3.4, L3.7).
void Scheduler::Core::wait_for(Ticket* t) {
  Shape& s = *t->shape;
  t->arrival = now_;
  t->order = ++arrivals_;
  t->state = TicketState::kWaiting;
  s.demand.join(t);
  if (s.state == SlotState::kAdmitting) return judge_one(t);
  if (s.worker->serves() && (s.state == SlotState::kResident || s.state == SlotState::kEvicting)) return;
  if (!s.queued) enqueue(s, *t);
  judge_one(t);
}

// A caller comes for its lease.
void Scheduler::Core::take(Ticket* t) {
  if (t->state == TicketState::kOffered) return grant(t);
  if (t->state != TicketState::kLost) return;
  Shape& s = *t->shape;
  if (const Refusal no = refusal(*s.worker, s.rung); no.code != Code::kOk)
    return answer(t, no.code, no.retry_after_ms);
  s.lost.remove(t);
  t->state = TicketState::kWaiting;
  t->arrival = now_;
  t->order = ++arrivals_;
  wait_for(t);  // where nothing holds it back, the decision that follows grants it
}

void Scheduler::Core::cancel(TicketId id) {
  Ticket* t = tickets_.find(id);
  if (t == nullptr) return;
  ++counts_.cancelled;
  quiet_event_ = leaves_unnoticed(*t);
  if (ANELANE_BUG(11) && t->shape->state == SlotState::kAdmitting)
    return answer_all(*t->shape, Code::kCancelled, 0);
  if (ANELANE_BUG(21)) {
    act_on(ActionKind::kAnswer, *t->shape).ticket = id;
    actions_.back().code = Code::kCancelled;
    return;
  }
  answer(t, Code::kCancelled, 0);
}

// Would a decision without this waiting ticket be the last one again? It would where others stay in its
// entry: the first of them only says from whom on a starved entry holds leases back, which nobody asks while
// no ticket waits for a resident shape.
bool Scheduler::Core::leaves_unnoticed(const Ticket& t) const {
  if (t.state != TicketState::kWaiting || head_blocked_) return false;
  const Shape& s = *t.shape;
  if (s.demand.first() != &t) return true;
  return s.demand.size() > 1 && std::none_of(charged_.begin(), charged_.end(), [](const Shape* slot) {
           return slot->state == SlotState::kResident && !slot->demand.empty();
         });
}

void Scheduler::Core::leave(Ticket* t) {
  Shape& s = *t->shape;
  timers_.cancel(t->bound_timer);
  timers_.cancel(t->offer_timer);
  const TicketState state = t->state;
  if (state == TicketState::kOffered)
    s.offered.remove(t);
  else if (state == TicketState::kLost)
    s.lost.remove(t);
  else
    s.demand.leave(t);
  tickets_.remove(t);
  if (state == TicketState::kWaiting && s.queued && s.demand.empty()) unwaited(s);
}

void Scheduler::Core::answer(Ticket* t, Code code, uint64_t retry_after_ms) {
  Action& a = act_on(ActionKind::kAnswer, *t->shape);
  a.ticket = t->id;
  a.code = code;
  a.retry_after_ms = retry_after_ms;
  ++counts_.answered;
  leave(t);
}

void Scheduler::Core::answer_all(Shape& s, Code code, uint64_t retry_after_ms) {
  while (Ticket* t = s.demand.first()) answer(t, code, retry_after_ms);
}

// Also those whom a lease was offered.
void Scheduler::Core::answer_everyone(Shape& s, Code code, uint64_t retry_after_ms) {
  answer_all(s, code, retry_after_ms);
  while (Ticket* t = s.offered.first()) answer(t, code, retry_after_ms);
  while (Ticket* t = s.lost.first()) answer(t, code, retry_after_ms);
}

void Scheduler::Core::grant(Ticket* t) {
  Shape& s = *t->shape;
  if (t->pin) {
    s.gate->lease_held();
    s.gate->set_last_use(now_);
  } else {
    ++counts_.answered;
  }
  act_on(t->pin ? ActionKind::kGrant : ActionKind::kAnswer, s).ticket = t->id;
  leave(t);
}

// L4.12: still waiting at its bound.
void Scheduler::Core::bound_reached(Ticket* t) {
  Shape& s = *t->shape;
  t->bound_timer = TimerHeap::kNone;
  if (t->state != TicketState::kWaiting) return answer(t, Code::kDeadlineExceeded, 0);
  const bool held_back = s.state == SlotState::kResident && s.worker->serves();
  if (held_back || (s.queued && s.worker->serves() && waits_for_room(s))) {
    if (t->deadline_bound) return answer(t, Code::kDeadlineExceeded, 0);
    return answer(t, Code::kResourcesExhausted, kNoRoomRetryMs);
  }
  const Delay delay =
      s.queued || s.state == SlotState::kAdmitting
          ? forecast(s)
          : forecast_as(s, QueueKey{now_ + std::max<Time>(0, cost_of(s)), now_, t->id, 0}, false, now_);
  promise(s, retry_ms(delay));
  answer(t, Code::kShapeCompiling, retry_ms(delay));
}

// Its entry lacks nothing but room that no eviction under way will give, or stands behind a starved head.
bool Scheduler::Core::waits_for_room(const Shape& s) {
  const GateKind own = gate_of(s);
  for (const GateKind kind : {GateKind::kCompile, GateKind::kLoad}) {
    const Standing at = stand(kind);
    if (at.starved && at.head != &s && at.head->place < s.place) return true;
    if (kind != own || !gate_free(kind) || now_ < settled_at(s)) continue;
    const bool first = at.head == &s || std::find(at.passed.begin(), at.passed.end(), &s) != at.passed.end();
    if (first && !ledger_.free_soon(*s.worker, s.earmarked).fits(s.worker->layers)) return true;
  }
  return false;
}

}  // namespace anelane::sched
