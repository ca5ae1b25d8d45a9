// What is going on, as one copy: for statistics, and for the oracle of the simulator.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {

const char* state_name(const Worker& w) {
  if (w.quarantined && !w.serves()) return "quarantined";
  switch (w.state) {
    case WorkerState::kStarting:
      return "starting";
    case WorkerState::kReady:
      return "ready";
    case WorkerState::kRecovering:
      return "recovering";
    case WorkerState::kUnconfirmed:
      return "unconfirmed";
    case WorkerState::kWaiting:
      return "starting";
    case WorkerState::kRetiring:
      return "retiring";
    case WorkerState::kRetired:
      return "retired";
  }
  return "?";
}

}  // namespace

uint32_t Scheduler::charged() const {
  return static_cast<uint32_t>(core_->ledger_.charged());
}

Snapshot Scheduler::snapshot(Time now) const {
  const Core& c = *core_;
  Snapshot out;
  out.budget = c.options_.executable_budget;
  out.charged = static_cast<uint32_t>(c.ledger_.charged());
  out.waiting = static_cast<uint32_t>(c.tickets_.size());
  out.machine_factor = c.factor_.value();
  out.admitted = c.counts_.admitted;
  out.loaded = c.counts_.loaded;
  out.compiled = c.counts_.compiled;
  out.evicted = c.counts_.evicted;
  out.refused = c.counts_.refused;
  out.restarts = c.counts_.restarts;
  out.answered = c.counts_.answered;
  out.cancelled = c.counts_.cancelled;
  const auto& holders = c.gate(GateKind::kCompile).holders;
  if (!holders.empty()) {
    const Admission& a = holders.front()->admission;
    out.compiling_worker = holders.front()->id;
    out.compiling_shape = holders.front()->ladder[a.shape->rung];
    out.compiling_for = a.phase == AdmissionPhase::kSent ? std::max<Time>(now - a.sent_at, 0) : 0;
    out.compiling_predicted = a.predicted;
  }
  for (const auto& w : c.workers_) {
    if (w == nullptr) continue;
    WorkerView view{
        w->id, w->name, w->generation, state_name(*w), w->restarts, w->held_back() ? c.probe_ms(*w) : 0,
        {},    {}};
    for (const Shape& s : w->shapes) {
      view.costs.push_back({w->ladder[s.rung], w->costs.predicts_load(s.rung), w->costs.load_cost(s.rung),
                            w->costs.compile_cost(s.rung, c.factor_),
                            w->costs.measured_compile(s.rung) != kUnknown});
      if (s.state == SlotState::kAbsent) continue;
      const uint32_t leases = s.gate->leases();
      view.slots.push_back({w->ladder[s.rung], leases, slot_state_name(s.state)});
      out.resident += s.state == SlotState::kResident ? 1 : 0;
      out.leased += leases > 0 ? 1 : 0;
    }
    out.workers.push_back(std::move(view));
  }
  for (const Shape* s : c.queue_)
    out.queue.push_back({s->worker->id, s->worker->ladder[s->rung], s->demand.size(), s->place.key,
                         c.cost_of(*s), s->worker->costs.predicts_load(s->rung), s->earmarked});
  return out;
}

}  // namespace anelane::sched
