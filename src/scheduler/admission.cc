// An admission from its start to its end: sent, admitted, failed, refused for resources (L4.15), repriced
// (L4.6), withdrawn before it was sent; and the hand-off of an admitted shape to its cohort (L3.6).
//
// The charge is taken at the start and the slot is admitting until the worker has answered or its exit is
// confirmed. The gate is held from the start to the same moment, also while a refused admission is tried
// again.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr Time kRepriceSlack = 1'000'000;   // L4.6
constexpr uint32_t kRefusalVictimsMax = 3;  // L4.15
constexpr uint64_t kRefusedRetryMs = 250;
constexpr Time kFailureMemory = 15'000'000;  // L4.16
}  // namespace

void Scheduler::Core::start(Shape& s, bool prewarm) {
  Worker& w = *s.worker;
  const GateKind kind = gate_of(s);
  Admission& a = w.admission;
  check(!a.active() && gate_free(kind), "an admission starts while its gate or its worker is taken (L4.1)");
  if (s.queued) remove_from_queue(s);
  set_state(s, SlotState::kAdmitting);
  end_earmark(s);  // after the charge: what is given back was not needed
  a = Admission{};
  a.shape = &s;
  a.is_load = w.costs.predicts_load(s.rung);
  a.predicted = cost_of(s);
  a.prewarm = prewarm;
  a.packed = s.packed && !prewarm;
  a.gate = kind;
  gate(kind).holders.push_back(&w);
  send_again(w);
}

void Scheduler::Core::send_again(Worker& w) {
  Admission& a = w.admission;
  a.phase = AdmissionPhase::kElected;
  Action& action = act_on(ActionKind::kStartAdmission, *a.shape);
  action.predicted = a.predicted;
  action.is_load = a.is_load && !a.repriced;
  action.prewarm = a.prewarm;
}

void Scheduler::Core::sent(Worker& w) {
  Admission& a = w.admission;
  a.phase = AdmissionPhase::kSent;
  a.sent_at = now_;
  if (a.is_load && !a.repriced && a.predicted != kUnknown && !ANELANE_BUG(6))
    a.reprice_timer = timers_.arm(now_ + 2 * a.predicted + kRepriceSlack, TimerClass::kReprice, &w);
}

void Scheduler::Core::admission_done(Worker& w, const Event& e) {
  Admission& a = w.admission;
  if (!a.active() || a.shape->rung != e.rung || a.phase != AdmissionPhase::kSent) return;
  timers_.cancel(a.reprice_timer);
  if (e.code == Code::kOk) return admitted(w, e);
  if (e.code == Code::kResourcesExhausted) return admission_refused(w);
  admission_failed(w, e);
}

void Scheduler::Core::admitted(Worker& w, const Event& e) {
  Admission& a = w.admission;
  Shape& s = *a.shape;
  // L4.7: from the moment it reached the worker; never packed ones, nor those refused before.
  const bool learn = e.learn && !a.packed && (!a.refused || ANELANE_BUG(19));
  w.costs.learn(s.rung, learn ? now_ - a.sent_at : kUnknown, e.cache_hit, e.compiled, factor_);
  ++counts_.admitted;
  ++(e.compiled == 0 && e.cache_hit != 0 ? counts_.loaded : counts_.compiled);
  if (a.prewarm && w.prewarm.pending) {
    w.prewarm.loaded |= 1u << s.rung;
    if (e.compiled == 0 && e.cache_hit != 0) w.prewarm.from_cache |= 1u << s.rung;
    ++w.prewarm.next;
  }
  set_state(s, SlotState::kResident);
  s.gate->open(true);  // the decision that follows opens it to callers
  s.held = true;
  s.wake = false;
  s.gate->set_last_use(now_);
  forget_promise(s);
  end_admission(w);
  // The closed cohort: who waits now. Everybody is offered the lease ahead of a starved head.
  while (Ticket* t = s.demand.first()) {
    if (t->take_at_once || !t->pin)
      grant(t);
    else
      offer(t);
  }
  if (w.retire_asked) end_prewarm(w, true);
}

// L3.6: protected until it comes, or for `handoff`; from its second offer on for up to `lease_max`.
void Scheduler::Core::offer(Ticket* t) {
  Shape& s = *t->shape;
  s.demand.leave(t);
  s.offered.push_back(t);
  t->state = TicketState::kOffered;
  const Time span = ++t->offers == 1 ? options_.handoff : options_.lease_max;
  if (!ANELANE_BUG(7)) t->offer_timer = timers_.arm(now_ + span, TimerClass::kHandoff, t);
  act_on(ActionKind::kOffer, s).ticket = t->id;
}

void Scheduler::Core::offer_over(Ticket* t) {
  timers_.cancel(t->offer_timer);
  Shape& s = *t->shape;
  s.offered.remove(t);
  s.lost.push_back(t);
  t->state = TicketState::kLost;
}

// The worker answered with an error: gate and charge are free at once (L4.13).
void Scheduler::Core::admission_failed(Worker& w, const Event& e) {
  Shape& s = *w.admission.shape;
  const bool prewarm = w.admission.prewarm;
  set_state(s, SlotState::kAbsent);
  end_admission(w);
  forget_promise(s);
  if (e.permanent && !ANELANE_BUG(33))
    failures_.remember(w.program, w.ladder[s.rung], e.code, now_,
                       now_ + (ANELANE_BUG(25) ? 2 : 1) * kFailureMemory);
  answer_all(s, e.code, code_info(e.code).retry_after_ms);
  if (!prewarm) return;
  w.prewarm.failed |= 1u << s.rung;
  end_prewarm(w, false);
}

// L4.15. The reservation and the gate stay; room is made lane-wide.
void Scheduler::Core::admission_refused(Worker& w) {
  Admission& a = w.admission;
  a.refused = true;
  ++counts_.refused;
  a.phase = AdmissionPhase::kEvicting;  // not on the wire
  if (a.prewarm) {
    a.prewarm = false;  // whoever joined it makes it an admission like any other (L9.2)
    w.prewarm.failed |= 1u << a.shape->rung;
    end_prewarm(w, false);
  }
  next_refusal_victim(w);
}

void Scheduler::Core::next_refusal_victim(Worker& w) {
  Admission& a = w.admission;
  VictimRules rules{.compile_gate = a.gate == GateKind::kCompile};
  if (a.victims_tried < kRefusalVictimsMax && !a.shape->demand.empty()) {
    for (Shape* v : candidates(rules)) {
      if (!evict(*v)) continue;
      ++a.victims_tried;
      a.phase = AdmissionPhase::kEvicting;
      v->evicted_for_refusal = &w;
      return;
    }
  }
  give_up_refused(w);
}

// Nothing was evicted, or nobody waits: as if it had never been asked. Else the engine holds something that
// we do not know of, and only a new process can tell (L4.15).
void Scheduler::Core::give_up_refused(Worker& w) {
  Admission& a = w.admission;
  Shape& s = *a.shape;
  const bool restart = a.evictions > 0 && !s.demand.empty();
  set_state(s, restart ? SlotState::kFailed : SlotState::kAbsent);
  end_admission(w);
  forget_promise(s);
  answer_all(s, Code::kResourcesExhausted, kRefusedRetryMs);
  if (restart) begin_planned_restart(w);
}

void Scheduler::Core::reclaim_then_retry(Worker& w) {
  Admission& a = w.admission;
  if (!a.active() || a.phase != AdmissionPhase::kEvicting) return;
  ++a.evictions;
  a.phase = AdmissionPhase::kReclaiming;
  if (options_.reclaim > 0)
    a.reclaim_timer = timers_.arm(now_ + options_.reclaim, TimerClass::kReclaim, &w);
  else
    send_again(w);
}

// A load that takes this long is a compile: it gives the load gate back and holds the compile gate (L4.6).
void Scheduler::Core::reprice(Worker& w) {
  Admission& a = w.admission;
  a.reprice_timer = TimerHeap::kNone;
  if (!a.active() || a.phase != AdmissionPhase::kSent) return;
  a.repriced = true;
  a.predicted = w.costs.compile_cost(a.shape->rung, factor_);
  if (a.gate == GateKind::kLoad) {
    free_gate(w);
    a.gate = GateKind::kCompile;
    a.holds_gate = !ANELANE_BUG(16);
    if (a.holds_gate) gate(GateKind::kCompile).holders.push_back(&w);
  }
  judge_everybody();
}

// It has not reached the worker. The caller says what becomes of its tickets.
void Scheduler::Core::withdraw_admission(Worker& w) {
  Admission& a = w.admission;
  Shape& s = *a.shape;
  if (a.phase == AdmissionPhase::kElected) act_on(ActionKind::kWithdrawAdmission, s);
  for (Shape* v : charged_)
    if (v->evicted_for_refusal == &w) v->evicted_for_refusal = nullptr;
  set_state(s, SlotState::kAbsent);
  end_admission(w);
}

void Scheduler::Core::end_admission(Worker& w) {
  Admission& a = w.admission;
  timers_.cancel(a.reprice_timer);
  timers_.cancel(a.reclaim_timer);
  timers_.cancel(a.gate_timer);
  free_gate(w);
  a = Admission{};
}

void Scheduler::Core::free_gate(Worker& w) {
  Admission& a = w.admission;
  if (!a.holds_gate) return;
  a.holds_gate = false;
  Gate& g = gate(a.gate);
  std::erase(g.holders, &w);
  if (g.holders.empty()) g.free_since = now_;
}

}  // namespace anelane::sched
