// Retirement (L7.1, L7.2): no new lease and no replacement; queued tickets are answered at once; what is on
// the wire and what is leased drains; then the process is closed, and only its confirmed exit refunds.
#include "scheduler/core.h"

namespace anelane::sched {

void Scheduler::Core::retire(Worker& w) {
  if (w.retire_asked) return;
  w.retire_asked = true;
  const bool unsent = w.admission.active() && w.admission.phase != AdmissionPhase::kSent &&
                      w.admission.phase != AdmissionPhase::kLost;
  if (unsent) {
    Shape& s = *w.admission.shape;
    const bool had_entry = !w.admission.prewarm;
    withdraw_admission(w);
    if (had_entry) requeue(s);  // and is dropped below, like every entry
  }
  if (!(w.admission.active() && w.admission.prewarm)) end_prewarm(w, true);
  for (Shape& s : w.shapes) {
    if (!ANELANE_BUG(23) || s.state != SlotState::kAdmitting) answer_everyone(s, Code::kRetired, 0);
    if (s.queued) drop(s);
    if (s.state == SlotState::kResident) hold(s, true);
  }
  switch (w.state) {
    case WorkerState::kWaiting:
      timers_.cancel(w.spawn_timer);
      return retired(w);
    case WorkerState::kReady:
      w.state = WorkerState::kRetiring;
      w.drain_timer = timers_.arm(now_ + options_.drain, TimerClass::kDrain, &w);
      return;  // the step's end closes it when it is drained
    case WorkerState::kStarting:
      w.state = WorkerState::kRetiring;
      return say_end(w);
    case WorkerState::kRecovering:
    case WorkerState::kUnconfirmed:
      w.state = WorkerState::kRetiring;
      return;
    case WorkerState::kRetiring:
    case WorkerState::kRetired:
      return;
  }
}

void Scheduler::Core::retired(Worker& w) {
  w.state = WorkerState::kRetired;
  act_on(ActionKind::kRetired, w);
}

}  // namespace anelane::sched
