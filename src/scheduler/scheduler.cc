// The scheduler's face: events in, actions out. Each event is taken, then everything that follows from it is
// decided (election.cc) before the next one. Timers due together are taken one after the other in the order
// of their classes, each with its decisions.
//
// After a broken invariant or kStop it only answers (L4.14). One thread.
#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "scheduler/core.h"

namespace anelane::sched {

Scheduler::Core::Core(const Options& options) : options_(options), ledger_(options) {
  workers_.emplace_back();
}

bool Scheduler::Core::check(bool holds, const char* what) {
  if (!holds && broken_.empty()) broken_ = what;
  return holds;
}

Action& Scheduler::Core::act_on(ActionKind kind, const Worker& w) {
  Action& a = actions_.emplace_back();
  a.kind = kind;
  a.worker = w.id;
  a.generation = w.generation;
  return a;
}

Action& Scheduler::Core::act_on(ActionKind kind, const Shape& s) {
  Action& a = act_on(kind, *s.worker);
  a.rung = s.rung;
  return a;
}

std::span<const Action> Scheduler::Core::step(Time now, const Event& event) {
  actions_.clear();
  now_ = std::max(now_, now);
  coarse_now_.store(now_, std::memory_order_relaxed);
  if (stopped_ && event.kind != EventKind::kRequest) return {};
  if (event.kind == EventKind::kTimer) {
    fire_timers();
  } else {
    quiet_event_ = false;
    dispatch(event);
    if (!stopped_ && !(quiet_event_ && !hints_changed_)) decide();
  }
  if (!broken_.empty() && !stopped_) stop(Code::kEngineCrashed);
  return actions_;
}

// No entry, no prewarm, no process that drains: a lease more or less decides nothing.
bool Scheduler::Core::nothing_pending() const {
  return queue_.empty() && prewarms_.empty() && draining_ == 0;
}

void Scheduler::Core::dispatch(const Event& e) {
  switch (e.kind) {
    case EventKind::kRequest:
      return request(e);
    case EventKind::kCancel:
      return cancel(e.ticket);
    case EventKind::kTake:
      if (Ticket* t = tickets_.find(e.ticket)) take(t);
      return;
    case EventKind::kStop:
      return stop(e.code == Code::kOk ? Code::kEngineCrashed : e.code);
    default:
      break;
  }
  Worker* w = find(e.worker);
  if (w == nullptr || w->state == WorkerState::kRetired) return;
  switch (e.kind) {
    case EventKind::kRetire:
      return retire(*w);
    case EventKind::kStreamIdle:
      w->stream_idle = true;
      return;
    case EventKind::kReleased:
      return;  // deciding anew is all
    default:
      break;
  }
  // The rest is about one process; news of an older one are no news (L6.1).
  if (e.generation != w->generation && !ANELANE_BUG(10)) return;
  const bool of_shape = e.kind == EventKind::kAdmissionSent || e.kind == EventKind::kAdmissionDone ||
                        e.kind == EventKind::kEvictionSent || e.kind == EventKind::kEvictionDone;
  if (of_shape && e.rung >= w->shapes.size()) return;
  switch (e.kind) {
    case EventKind::kWorkerReady:
      return worker_ready(*w, e);
    case EventKind::kStartFailed:
      return start_failed(*w, e.code == Code::kResourcesExhausted);
    case EventKind::kFault:
      return fault(*w);
    case EventKind::kExitConfirmed:
      return exit_confirmed(*w);
    case EventKind::kAdmissionSent:
      if (w->admission.active() && w->admission.phase == AdmissionPhase::kElected &&
          w->admission.shape->rung == e.rung)
        sent(*w);
      return;
    case EventKind::kAdmissionDone:
      return admission_done(*w, e);
    case EventKind::kEvictionSent:
      if (w->shapes[e.rung].state == SlotState::kEvicting) w->shapes[e.rung].eviction_sent = true;
      return;
    case EventKind::kEvictionDone:
      return eviction_done(*w, w->shapes[e.rung], e.code);
    default:
      return;
  }
}

void Scheduler::Core::fire_timers() {
  TimerHeap::Fired fired{};
  bool any = false;
  while (!stopped_ && broken_.empty() && timers_.pop(now_, &fired)) {
    fire(fired.cls, fired.subject);
    decide();
    any = true;
  }
  if (!any && !stopped_) decide();
}

void Scheduler::Core::fire(TimerClass cls, void* subject) {
  Worker* w = static_cast<Worker*>(subject);
  switch (cls) {
    case TimerClass::kHandoff: {
      Ticket* t = static_cast<Ticket*>(subject);
      t->offer_timer = TimerHeap::kNone;
      return offer_over(t);
    }
    case TimerClass::kReprice:
      return reprice(*w);
    case TimerClass::kReclaim:
      w->admission.reclaim_timer = TimerHeap::kNone;
      return send_again(*w);
    case TimerClass::kGate:
      w->admission.gate_timer = TimerHeap::kNone;
      return free_gate(*w);
    case TimerClass::kExit:
      return exit_overdue(*w);
    case TimerClass::kDrain:
      w->drain_timer = TimerHeap::kNone;
      if (!w->ending) say_end(*w);
      return;
    case TimerClass::kSpawn:
      return spawn(*w);
    case TimerClass::kDecide:
      decide_timer_ = TimerHeap::kNone;
      decide_due_ = kNever;
      return;
    case TimerClass::kPromise: {
      Shape* s = static_cast<Shape*>(subject);
      s->promise_timer = TimerHeap::kNone;
      if (s->queued && s->demand.empty()) drop(*s);
      return;
    }
    case TimerClass::kBound:
      return bound_reached(static_cast<Ticket*>(subject));
  }
}

// L4.14. The words are closed first, so that the fast path refuses too.
void Scheduler::Core::stop(Code code) {
  stopped_ = true;
  stop_code_ = code;
  for (auto& w : workers_) {
    if (w == nullptr) continue;
    for (Shape& s : w->shapes) {
      hold(s, true);
      answer_everyone(s, code, code_info(code).retry_after_ms);
    }
  }
}

Scheduler::Scheduler(const Options& options) : core_(std::make_unique<Core>(options)) {}
Scheduler::~Scheduler() = default;

WorkerId Scheduler::add_worker(const WorkerSpec& spec) {
  Core& c = *core_;
  auto& w = c.workers_.emplace_back(std::make_unique<Worker>(spec));
  w->id = static_cast<WorkerId>(c.workers_.size() - 1);
  w->wants_prewarm = spec.prewarm;
  if (w->program.empty()) w->program = "#" + std::to_string(w->id);
  if (spec.gates == nullptr) w->own_gates = std::make_unique<SlotGate[]>(spec.ladder.size());
  SlotGate* gates = spec.gates != nullptr ? spec.gates : w->own_gates.get();
  for (uint32_t i = 0; i < spec.ladder.size(); ++i) {
    Shape& s = w->shapes.emplace_back();
    s.worker = w.get();
    s.rung = i;
    s.gate = gates + i;
  }
  if (c.observer_ != nullptr) c.observer_->worker_added(w->id, spec);
  return w->id;
}

void Scheduler::forget(WorkerId worker) {
  Worker* w = core_->find(worker);
  if (w == nullptr || w->state != WorkerState::kRetired) return;
  for (Shape& s : w->shapes) core_->forget_promise(s);
  core_->workers_[worker].reset();
  if (core_->observer_ != nullptr) core_->observer_->worker_forgotten(worker);
}

SlotGate& Scheduler::gate(WorkerId worker, uint32_t rung) {
  return *core_->find(worker)->shapes[rung].gate;
}

std::span<const Action> Scheduler::step(Time now, const Event& event) {
  const std::span<const Action> actions = core_->step(now, event);
  if (core_->observer_ != nullptr) core_->observer_->stepped(now, event, actions);
  return actions;
}

Time Scheduler::next_due() const {
  return core_->stopped_ ? kNever : core_->timers_.next();
}

Time Scheduler::predict(Time now, WorkerId worker, uint32_t rung) const {
  Core& c = *core_;
  const Worker* w = c.find(worker);
  if (w == nullptr || rung >= w->shapes.size()) return kUnknown;
  const Shape& s = w->shapes[rung];
  if (s.state == SlotState::kResident && w->serves()) return 0;
  const Time before = c.now_;
  Observer* const observer = std::exchange(c.observer_, nullptr);  // a question is no part of the history
  c.now_ = std::max(before, now);
  const bool stands = s.queued || s.state == SlotState::kAdmitting;
  const Time cost = std::max<Time>(0, c.cost_of(s));
  const QueueKey new_key{c.now_ + cost, c.now_, std::numeric_limits<TicketId>::max(), 0};
  Delay delay = stands ? c.forecast(s) : c.forecast_as(s, new_key, false, c.now_);
  delay.vague |= !w->serves();
  c.now_ = before;
  c.observer_ = observer;
  return static_cast<Time>(c.retry_ms(delay)) * 1000;
}

void Scheduler::set_stream_hint(WorkerId worker, bool idle) {
  Worker* w = core_->find(worker);
  if (w == nullptr || w->stream_idle == idle) return;
  w->stream_idle = idle;
  core_->hinted(*w);
}

void Scheduler::set_blocked_leases(WorkerId worker, uint32_t rung_mask) {
  Worker* w = core_->find(worker);
  if (w == nullptr || w->blocked == rung_mask) return;
  w->blocked = rung_mask;
  core_->hinted(*w);
}

bool Scheduler::wants_stream_idle(WorkerId worker) const {
  const Worker* w = core_->find(worker);
  return w != nullptr &&
         (w->prewarm.pending || w->state == WorkerState::kRetiring || w->state == WorkerState::kRecovering);
}

Outage Scheduler::outage(WorkerId worker) const {
  const Worker* w = core_->find(worker);
  if (w == nullptr || w->serves()) return Outage::kNone;
  if (w->short_starts > 0) return Outage::kCannotStart;
  return w->quarantined ? Outage::kKeepsEnding : Outage::kNone;
}

const std::atomic<Time>& Scheduler::coarse_now() const {
  return core_->coarse_now_;
}
void Scheduler::publish(Time now) {
  core_->coarse_now_.store(now, std::memory_order_relaxed);
}
void Scheduler::observe(Observer* observer) {
  core_->observer_ = observer;
}
const std::string& Scheduler::broken() const {
  return core_->broken_;
}

}  // namespace anelane::sched
