// Victims (L3.7): which slots may be evicted for an entry, in which order, how few; the earmark of the room
// that they give; and the evictions themselves.
//
// A slot with a lease or an outstanding offer is never a candidate. Closing the gate word and finding it
// unleased is one atomic step, so a lease taken at the last moment wins and another victim is looked for.
#include <algorithm>
#include <tuple>

#include "scheduler/core.h"

namespace anelane::sched {

bool Scheduler::Core::may_be_victim(Shape& v, const VictimRules& rules) {
  const Worker& w = *v.worker;
  if (v.state != SlotState::kResident || (!v.offered.empty() && !ANELANE_BUG(3))) return false;
  if (rules.of != nullptr && rules.of != &w) return false;
  const bool open = w.serves() || (w.state == WorkerState::kRetiring && !w.ending && !w.broken);
  if (!open) return false;
  if (rules.undemanded_only && !v.demand.empty()) return false;
  if (!rules.compile_gate && w.admission.active() && w.admission.phase == AdmissionPhase::kSent) return false;
  return unleased(v);
}

std::vector<Shape*> Scheduler::Core::candidates(const VictimRules& rules) {
  struct Ranked {
    bool busy, demanded, first_rung;
    Time used;
    Shape* shape;
  };
  std::vector<Ranked> ranked;
  for (Shape* v : charged_) {
    if (!may_be_victim(*v, rules)) continue;
    ranked.push_back({busy(*v->worker), !v->demand.empty(), v->rung == 0,
                      ANELANE_BUG(15) ? -last_use(*v) : last_use(*v), v});
  }
  // Stable: ties stay in the order of workers and rungs.
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.busy, a.demanded, a.first_rung, a.used) <
           std::tie(b.busy, b.demanded, b.first_rung, b.used);
  });
  std::vector<Shape*> shapes;
  for (const Ranked& r : ranked) shapes.push_back(r.shape);
  return shapes;
}

VictimRules Scheduler::Core::rules_for(const Shape& s) const {
  return VictimRules{.compile_gate = gate_of(s) == GateKind::kCompile, .undemanded_only = s.demand.empty()};
}

// One set, as small as the order allows; empty if all together are too few, or none is needed.
std::vector<Shape*> Scheduler::Core::choose_victims(const Shape& s) {
  const Worker& w = *s.worker;
  const Room room = ledger_.free_soon(w, s.earmarked);
  VictimRules rules = rules_for(s);
  if (room.own_slots < 1) rules.of = &w;
  const auto enough = [&](const std::vector<Shape*>& chosen) {
    Room then = room;
    for (const Shape* v : chosen) {
      then.executables += v->worker->layers;
      ++then.slots;
      if (v->worker == &w) ++then.own_slots;
    }
    return then.fits(w.layers);
  };
  std::vector<Shape*> chosen;
  if (enough(chosen)) return {};
  for (Shape* v : candidates(rules)) {
    chosen.push_back(v);
    if (enough(chosen)) break;
  }
  if (!enough(chosen)) return {};
  for (size_t i = chosen.size(); i-- > 0;) {
    std::vector<Shape*> fewer = chosen;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (enough(fewer)) chosen = std::move(fewer);
  }
  return chosen;
}

// False: somebody leases it now.
bool Scheduler::Core::evict(Shape& v) {
  if (!close_if_unleased(v)) return false;
  v.held = true;
  set_state(v, SlotState::kEvicting);
  ledger_.begin_eviction(*v.worker);
  v.eviction_sent = false;
  act_on(ActionKind::kStartEviction, v);
  return true;
}

void Scheduler::Core::withdraw_eviction(Shape& v) {
  end_eviction(v);
  set_state(v, SlotState::kResident);
  v.gate->reopen(true);
  v.held = true;
  act_on(ActionKind::kWithdrawEviction, v);
}

// Whatever its outcome.
void Scheduler::Core::end_eviction(Shape& v) {
  ledger_.end_eviction(*v.worker);
  if (v.evicted_for != nullptr) std::erase(v.evicted_for->victims, &v);
  v.evicted_for = nullptr;
  v.eviction_sent = false;
}

void Scheduler::Core::eviction_done(Worker& w, Shape& v, Code code) {
  if (v.state != SlotState::kEvicting) return;
  if (code != Code::kOk) return fault(w);  // L4.15: its owner recovers
  Worker* asked = v.evicted_for_refusal;
  v.evicted_for_refusal = nullptr;
  end_eviction(v);
  set_state(v, SlotState::kAbsent);
  ++counts_.evicted;
  queue_anew(v);
  if (asked != nullptr) reclaim_then_retry(*asked);
}

void Scheduler::Core::set_earmark(Shape& s) {
  if (s.earmarked) return;
  s.earmarked = true;
  ledger_.earmark(*s.worker);
}

// What is not on the wire yet comes back (L3.7).
void Scheduler::Core::end_earmark(Shape& s) {
  if (!s.earmarked) return;
  s.earmarked = false;
  ledger_.end_earmark(*s.worker);
  const std::vector<Shape*> victims = s.victims;
  for (Shape* v : victims) {
    if (v->eviction_sent)
      v->evicted_for = nullptr;
    else
      withdraw_eviction(*v);
  }
  s.victims.clear();
}

}  // namespace anelane::sched
