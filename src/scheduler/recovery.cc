// Faults, confirmed exits, replacements (L4.13, L6). A charge of a broken process stays until its exit is
// confirmed, its gate at most `gate_hold`; no replacement starts before.
//
// ready → recovering: leases drain, then the process is ended (kRecover) → exit confirmed: every slot of it
// is gone → waiting (back-off, quarantine) → starting → ready. An exit that stays unconfirmed closes the
// worker.
#include <algorithm>
#include <utility>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
// L6.4.
constexpr Time kCrashWindow = static_cast<Time>(limits::kCrashWindowMs) * 1000;
constexpr Time kBackOffFirst = 100'000;
constexpr Time kBackOffMost = 10'000'000;
constexpr Time kProbeEvery = static_cast<Time>(limits::kProbeEveryMs) * 1000;
constexpr uint64_t kCrashedRetryMs = 1000;
constexpr uint64_t kNoRoomRetryMs = 250;
}  // namespace

void Scheduler::Core::worker_ready(Worker& w, const Event& e) {
  if (w.state != WorkerState::kStarting || e.generation != w.generation || w.retire_asked) return;
  w.state = WorkerState::kReady;
  w.ending = w.broken = false;
  w.short_starts = 0;
  w.ready_at = now_;
  w.costs.report_cached(e.mask);
  return_entries(w);
  prewarm_ready(w);
}

// The stream broke, or what ran has an unknown outcome. One fault restarts a generation once (L6.1).
void Scheduler::Core::fault(Worker& w) {
  const bool open = w.state == WorkerState::kReady || w.state == WorkerState::kStarting ||
                    (w.state == WorkerState::kRetiring && !w.broken) ||
                    (w.state == WorkerState::kRecovering && !w.broken);
  if (!open) return;
  const bool asked_before = w.ending;
  w.broken = true;
  count_crash(w);  // which asks whether it was being started
  if (w.state != WorkerState::kRetiring) w.state = WorkerState::kRecovering;
  end_prewarm(w, true);
  if (w.admission.active()) lose_admission(w);
  lose_slots(w);
  if (ANELANE_BUG(20)) return spawn(w);
  if (w.exit_timer == TimerHeap::kNone)
    w.exit_timer = timers_.arm(now_ + options_.exit_timeout, TimerClass::kExit, &w);
  if (asked_before) return;
  if (w.drain_timer == TimerHeap::kNone)
    w.drain_timer = timers_.arm(now_ + options_.drain, TimerClass::kDrain, &w);
  end_when_drained(w);
}

void Scheduler::Core::lose_admission(Worker& w) {
  Admission& a = w.admission;
  Shape& s = *a.shape;
  if (a.phase == AdmissionPhase::kSent) {
    timers_.cancel(a.reprice_timer);
    a.phase = AdmissionPhase::kLost;
    set_state(s, ANELANE_BUG(9) ? SlotState::kAbsent : SlotState::kFailed);
    forget_promise(s);
    answer_all(s, Code::kEngineCrashed, kCrashedRetryMs);
    if (!ANELANE_BUG(28)) a.gate_timer = timers_.arm(now_ + options_.gate_hold, TimerClass::kGate, &w);
    if (ANELANE_BUG(8)) free_gate(w);
    return;
  }
  // Refused, not elected anew yet: the refusal is its outcome.
  const bool refused = a.phase == AdmissionPhase::kEvicting || a.phase == AdmissionPhase::kReclaiming;
  const bool had_entry = !a.prewarm;
  withdraw_admission(w);
  if (refused) {
    forget_promise(s);
    return answer_all(s, Code::kResourcesExhausted, kNoRoomRetryMs);
  }
  if (!had_entry && s.demand.empty()) return forget_promise(s);
  // It goes back to the queue with its key (L4.13).
  if (had_entry)
    requeue(s);
  else
    enqueue(s, *s.demand.first());
  if (s.demand.empty()) unwaited(s);
}

void Scheduler::Core::lose_slots(Worker& w) {
  for (Shape& s : w.shapes) {
    end_earmark(s);
    if (s.state == SlotState::kEvicting) {
      Worker* asked = s.evicted_for_refusal;
      s.evicted_for_refusal = nullptr;
      if (s.eviction_sent) {
        end_eviction(s);
        set_state(s, SlotState::kFailed);
      } else {
        withdraw_eviction(s);  // nothing about it is unknown
      }
      if (asked != nullptr && asked != &w) next_refusal_victim(*asked);
    } else if (s.state == SlotState::kResident) {
      while (Ticket* t = s.offered.first()) offer_over(t);
      hold(s, true);
    }
  }
}

// L4.15: drain, then restart, without a fault.
void Scheduler::Core::begin_planned_restart(Worker& w) {
  if (w.state != WorkerState::kReady) return;
  w.state = WorkerState::kRecovering;
  end_prewarm(w, true);
  for (Shape& s : w.shapes) {
    end_earmark(s);
    while (Ticket* t = s.offered.first()) offer_over(t);
    if (s.state == SlotState::kResident) hold(s, true);
  }
  w.drain_timer = timers_.arm(now_ + options_.drain, TimerClass::kDrain, &w);
  end_when_drained(w);
}

bool Scheduler::Core::drained(Worker& w) {
  bool quiet = true;
  for (Shape& s : w.shapes) quiet &= unleased(s);  // all of them: each must tell its last release
  if (w.broken) return quiet;
  const bool on_wire = w.admission.active() && w.admission.phase <= AdmissionPhase::kSent;
  return quiet && !on_wire && w.slots_evicting == 0 && w.stream_idle;
}

// True: it was ended.
bool Scheduler::Core::end_when_drained(Worker& w) {
  const bool waits = w.state == WorkerState::kRecovering || w.state == WorkerState::kRetiring ||
                     w.state == WorkerState::kUnconfirmed;
  if (!waits || w.ending || !drained(w)) return false;
  say_end(w);
  return true;
}

bool Scheduler::Core::end_drained_workers() {
  bool any = false;
  draining_ = 0;
  for (auto& w : workers_) {
    if (w == nullptr || w->state < WorkerState::kRecovering) continue;
    any |= end_when_drained(*w);
    if (w->has_process() && !w->ending) ++draining_;
  }
  return any;
}

void Scheduler::Core::say_end(Worker& w) {
  timers_.cancel(w.drain_timer);
  w.ending = true;
  act_on(w.state == WorkerState::kRetiring && !w.broken ? ActionKind::kCloseWorker : ActionKind::kRecover, w);
  if (w.exit_timer == TimerHeap::kNone && w.state != WorkerState::kUnconfirmed)
    w.exit_timer = timers_.arm(now_ + options_.exit_timeout, TimerClass::kExit, &w);
}

// L6.2: its charge stays, its requests are answered.
void Scheduler::Core::exit_overdue(Worker& w) {
  w.exit_timer = TimerHeap::kNone;
  if (w.state != WorkerState::kRecovering || ANELANE_BUG(27)) return;
  w.state = WorkerState::kUnconfirmed;
  for (Shape& s : w.shapes) answer_all(s, Code::kEngineCrashed, kCrashedRetryMs);
}

void Scheduler::Core::exit_confirmed(Worker& w) {
  if (!w.has_process()) return;
  if (!w.ending && !w.broken) {  // nobody asked for it
    w.ending = true;
    fault(w);
  }
  timers_.cancel(w.exit_timer);
  timers_.cancel(w.drain_timer);
  if (w.admission.active()) end_lost_admission(w);
  for (Shape& s : w.shapes) {
    if (s.state == SlotState::kAbsent) continue;
    Worker* asked = std::exchange(s.evicted_for_refusal, nullptr);
    if (s.state == SlotState::kEvicting) end_eviction(s);
    while (Ticket* t = s.offered.first()) offer_over(t);
    s.gate->force_close();
    s.held = true;
    s.wake = false;
    set_state(s, SlotState::kAbsent);
    if (asked != nullptr && asked != &w) reclaim_then_retry(*asked);  // the victim is gone all the same
  }
  w.ending = w.broken = false;
  if (w.retire_asked) return retired(w);
  w.state = WorkerState::kWaiting;
  for (Shape& s : w.shapes) queue_anew(s);
  schedule_start(w);
}

// The gate opens, or, where the daemon compiles on without its client, a while later (L4.13).
void Scheduler::Core::end_lost_admission(Worker& w) {
  const Admission a = w.admission;
  if (a.phase != AdmissionPhase::kLost) return withdraw_admission(w);
  end_admission(w);
  if (!options_.daemon_goes_on || a.gate != GateKind::kCompile) return;
  const Time left = a.predicted == kUnknown ? options_.gate_hold : a.predicted - (now_ - a.sent_at);
  Gate& g = gate(a.gate);
  g.shut_until = std::max(g.shut_until, now_ + std::clamp<Time>(left, 0, options_.gate_hold));
  g.free_since = std::max(g.free_since, g.shut_until);
}

// A shortage says nothing about the model: it backs off, and never quarantines.
void Scheduler::Core::start_failed(Worker& w, bool shortage) {
  if (w.state == WorkerState::kRetiring) return exit_confirmed(w);  // retired while it was being started
  if (w.state != WorkerState::kStarting) return;
  if (!shortage)
    count_crash(w);
  else if (options_.back_off)
    ++w.short_starts;
  w.state = WorkerState::kWaiting;
  schedule_start(w);
}

// L6.4: the crashes of the last minute decide.
void Scheduler::Core::count_crash(Worker& w) {
  w.short_starts = 0;  // there was a process
  std::erase_if(w.crashes, [&](Time t) { return now_ - t >= kCrashWindow; });
  w.crashes.push_back(now_);
  // After a quarantine one more crash is enough, until a start has held for a minute.
  const bool again = w.quarantined && (w.state == WorkerState::kStarting || now_ - w.ready_at < kCrashWindow);
  w.quarantined = options_.back_off && (again || w.crashes.size() >= limits::kCrashesMax);
}

void Scheduler::Core::schedule_start(Worker& w) {
  const auto back_off = [](size_t times) {
    return std::min(kBackOffFirst << std::min<size_t>(times, 10), kBackOffMost);
  };
  Time delay = 0;
  if (options_.back_off && w.crashes.size() > 1) delay = back_off(w.crashes.size() - 2);
  if (w.quarantined) delay = kProbeEvery;
  if (w.short_starts > 0) delay = back_off(w.short_starts - 1);  // a probe that could not be made was none
  if (w.held_back()) {
    w.probe_at = now_ + delay;
    for (Shape& s : w.shapes) answer_all(s, Code::kEngineCrashed, probe_ms(w));
  }
  if (delay == 0) return spawn(w);
  w.spawn_timer = timers_.arm(now_ + delay, TimerClass::kSpawn, &w);
}

void Scheduler::Core::spawn(Worker& w) {
  w.spawn_timer = TimerHeap::kNone;
  w.state = WorkerState::kStarting;
  ++w.generation;
  ++w.restarts;
  ++counts_.restarts;
  w.stream_idle = true;
  w.blocked = 0;
  act_on(ActionKind::kSpawn, w);
}

uint64_t Scheduler::Core::probe_ms(const Worker& w) const {
  // Not at the moment of the probe: it has to start before it can serve whoever comes back as told.
  const Time until_probe = std::max<Time>(w.probe_at - now_, 0);
  return static_cast<uint64_t>(until_probe) / 1000 + kCrashedRetryMs;
}

}  // namespace anelane::sched
