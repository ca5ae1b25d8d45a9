// The one place where admissions are elected and victims taken (L3.5, L4.1, L4.3, L4.8), after each event.
//
// Each gate has one head. When its gate is free it starts if it fits, else it takes victims; the head of the
// taken compile gate may take victims shortly before the gate opens. A head that cannot be given room is
// starved and holds back later tickets, or is passed over. decide() repeats until nothing changes, so that
// the result is a fixed point of the rules and not of the order in which they are written here.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr int kRoundsMax = 100'000;  // each round starts, evicts, answers or grants something
}

void Scheduler::Core::decide() {
  int rounds = 0;
  ++round_;
  hints_changed_ = head_blocked_ = false;
  end_drained_workers();
  while (decide_once() || end_drained_workers()) {
    if (!check(++rounds < kRoundsMax, "the decisions of one event do not end")) return;
  }
  prewarm_step();
  forget_wakes();
  arm_decide_timer();
}

// True: something changed, so that everything must be looked at again.
bool Scheduler::Core::decide_once() {
  std::array<Standing, 2> at{stand(GateKind::kCompile), stand(GateKind::kLoad)};
  std::array<GateKind, 2> order{GateKind::kCompile, GateKind::kLoad};
  const Shape* first = at[0].head;
  const Shape* second = at[1].head;
  if (first != nullptr && second != nullptr && second->place < first->place) std::swap(order[0], order[1]);
  const Shape* lower = nullptr;  // the lower head, while it waits for room that is on its way
  for (const GateKind kind : order) {
    const Standing& mine = at[static_cast<size_t>(kind)];
    const Standing& other = at[1 - static_cast<size_t>(kind)];
    if (mine.head == nullptr) continue;
    if (act(*mine.head, kind, other, lower)) return true;
    if (gate_free(kind) && now_ >= settled_at(*mine.head)) lower = mine.head;
  }
  apply_holds(at);
  return grant_unheld();
}

// L4.8, with L4.3 and L3.5.
Standing Scheduler::Core::stand(GateKind kind) {
  Standing at;
  Shape* first_settled = nullptr;
  Time settling = kNever;
  for (Shape* s : queue_) {
    if (gate_of(*s) != kind || !electable(*s, kind)) continue;
    if (s->earmarked && ledger_.free_now(*s->worker, true).fits(s->worker->layers)) {
      at.head = s;  // elected first once the room is free (L3.7)
      at.passed.clear();
      return at;
    }
  }
  const bool free = gate_free(kind);
  for (Shape* s : queue_) {
    if (gate_of(*s) != kind || !electable(*s, kind)) continue;
    if (passed_over(*s)) {
      if (at.head == nullptr) at.passed.push_back(s);
      continue;
    }
    const bool settled = now_ >= settled_at(*s);
    if (at.head == nullptr) {
      at.head = s;
      if (settled) break;
    }
    if (!settled) continue;
    if (first_settled == nullptr) first_settled = s;
    settling = std::min(settling, settled_at(*s));
  }
  if (first_settled != nullptr && free && now_ >= std::max(settling, gate(kind).free_since) + options_.settle)
    at.head = first_settled;
  if (at.head == nullptr || at.head->demand.empty() || !free || now_ < settled_at(*at.head)) return at;
  const Worker& w = *at.head->worker;
  at.starved =
      !ledger_.free_soon(w, at.head->earmarked).lane_fits(w.layers) && choose_victims(*at.head).empty();
  return at;
}

// L3.5: three kinds of entries that find no room and hold back nobody else.
bool Scheduler::Core::passed_over(const Shape& s) {
  const Worker& w = *s.worker;
  const Room soon = ledger_.free_soon(w, s.earmarked);
  if (soon.fits(w.layers)) return false;
  if (!choose_victims(s).empty()) return false;
  if (soon.own_slots < 1) {
    VictimRules rules = rules_for(s);
    rules.of = &w;
    if (candidates(rules).empty()) return true;
  }
  if (s.demand.empty()) return true;
  int64_t executables = 0, slots = 0, own = 0;
  for (const Shape* other : charged_) {
    const Worker& o = *other->worker;
    const bool blocked = (o.blocked >> other->rung & 1u) != 0;
    if (!o.exit_pending() && !blocked) continue;
    executables += o.layers;
    ++slots;
    if (&o == &w) ++own;
  }
  return !ledger_.free_but(executables, slots, own).fits(w.layers);
}

// Starts the head or takes its victims. True: something happened, also that tickets were answered.
bool Scheduler::Core::act(Shape& s, GateKind kind, const Standing& other, const Shape* lower) {
  const Worker& w = *s.worker;
  if (now_ < settled_at(s)) return false;
  const bool rival_starved = other.starved;
  if (gate_free(kind) && ledger_.free_now(w, s.earmarked).fits(ANELANE_BUG(24) ? w.layers - 1 : w.layers)) {
    if (rival_starved && other.head->place < s.place && !ANELANE_BUG(4)) return false;
    if (lower != nullptr && takes_room_of(s, *lower)) return false;
    if (!ANELANE_BUG(29) && judge(s)) return true;
    if (!may_start_past(s)) {
      head_blocked_ = true;
      return false;
    }
    start(s, false);
    return true;
  }
  if (rival_starved) return false;
  if (!gate_free(kind)) {
    const bool early = kind == GateKind::kCompile && !s.demand.empty() && early_evict_due();
    if (!early) return false;
  }
  return take_victims(s);
}

// L4.8: where both heads need room, the lower key takes it first.
bool Scheduler::Core::takes_room_of(const Shape& s, const Shape& lower) const {
  Room left = ledger_.free_soon(*lower.worker, lower.earmarked);
  if (!left.fits(lower.worker->layers)) return false;
  left.executables -= s.worker->layers;
  --left.slots;
  if (s.worker == lower.worker) --left.own_slots;
  return !left.fits(lower.worker->layers);
}

bool Scheduler::Core::take_victims(Shape& s) {
  if (choose_victims(s).empty()) return false;
  if (judge(s)) return true;
  bool any = false;
  for (Shape* v : choose_victims(s)) {
    if (!evict(*v)) continue;  // leased at this moment: the next round finds another
    any = true;
    if (s.demand.empty()) continue;
    set_earmark(s);
    v->evicted_for = &s;
    s.victims.push_back(v);
  }
  return any;
}

// L4.8: the holder's remaining time is known, not overdue, and short.
bool Scheduler::Core::early_evict_due() const {
  const Gate& g = gate(GateKind::kCompile);
  if (g.holders.empty()) return g.shut_until > now_ && g.shut_until - now_ <= options_.early_evict;
  for (const Worker* w : g.holders) {
    if (w->exit_pending()) return false;
    const Delay left = remaining(w->admission);
    if (left.vague || left.us > options_.early_evict) return false;
  }
  return true;
}

// L3.5: who may not lease, and whose release must be told.
void Scheduler::Core::apply_holds(const std::array<Standing, 2>& standing) {
  hold_after_ = ~0ull;
  for (auto& w : workers_)
    if (w != nullptr) w->hold_after = ~0ull;
  for (const GateKind kind : {GateKind::kCompile, GateKind::kLoad}) {
    const Standing& at = standing[static_cast<size_t>(kind)];
    if (at.starved && !ANELANE_BUG(5)) hold_after_ = std::min(hold_after_, at.head->demand.first()->order);
    for (const Shape* s : at.passed) {
      if (s->demand.empty() || !gate_free(kind)) continue;
      if (ledger_.free_soon(*s->worker, s->earmarked).own_slots >= 1) continue;
      s->worker->hold_after = std::min(s->worker->hold_after, s->demand.first()->order);
    }
  }
  for (Shape* s : charged_) {
    if (s->state != SlotState::kResident) continue;
    const bool open = s->worker->serves() && std::min(hold_after_, s->worker->hold_after) == ~0ull;
    if (!open) hold(*s, true);
  }
}

// One ticket, the earliest that may go, whatever its shape: its lease may starve a head, which decides about
// the next one. When none is left the words are opened to the fast path.
bool Scheduler::Core::grant_unheld() {
  Ticket* next = nullptr;
  for (Shape* s : charged_) {
    if (s->state != SlotState::kResident || !s->worker->serves() || s->demand.empty()) continue;
    Ticket* t = s->demand.first();
    if (t->order > std::min(hold_after_, s->worker->hold_after)) continue;
    if (next == nullptr || t->order < next->order) next = t;
  }
  if (next != nullptr) {
    grant(next);
    return true;
  }
  for (Shape* s : charged_) {
    if (s->state != SlotState::kResident || !s->worker->serves()) continue;
    hold(*s, std::min(hold_after_, s->worker->hold_after) != ~0ull);
  }
  return false;
}

void Scheduler::Core::arm_decide_timer() {
  Time due = kNever;
  const auto at = [&](Time t) {
    if (t > now_) due = std::min(due, t);
  };
  for (const GateKind kind : {GateKind::kCompile, GateKind::kLoad}) {
    const Gate& g = gate(kind);
    at(g.shut_until);
    if (g.shut_until > now_) at(g.shut_until - options_.early_evict);
    if (kind != GateKind::kCompile) continue;
    for (const Worker* w : g.holders) {
      const Admission& a = w->admission;
      if (a.phase == AdmissionPhase::kSent && a.predicted != kUnknown)
        at(a.sent_at + a.predicted - options_.early_evict);
    }
  }
  std::array<Time, 2> settling{kNever, kNever};
  for (const Shape* s : queue_) {
    if (!s->worker->serves()) continue;
    const Time settled = settled_at(*s);
    at(settled);
    Time& first = settling[static_cast<size_t>(gate_of(*s))];
    if (settled <= now_ && electable(*s, gate_of(*s))) first = std::min(first, settled);
    if (settled <= now_) at(settled + options_.settle);
  }
  for (const GateKind kind : {GateKind::kCompile, GateKind::kLoad}) {
    const Time first = settling[static_cast<size_t>(kind)];
    if (first != kNever && gate_free(kind)) at(std::max(first, gate(kind).free_since) + options_.settle);
  }
  if (due == decide_due_ && decide_timer_ != TimerHeap::kNone) return;
  timers_.cancel(decide_timer_);
  decide_due_ = due;
  if (due != kNever) decide_timer_ = timers_.arm(due, TimerClass::kDecide, nullptr);
}

}  // namespace anelane::sched
