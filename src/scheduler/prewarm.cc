// Prewarm (L9): the small rungs of a ready model, in the background. Lowest priority: only while nothing is
// queued and nobody waits, one at a time in the lane, only into free room. Once for each worker process.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr uint32_t kPrewarmShapes[] = {128, 256, 512};
bool prewarmed_shape(uint32_t shape) {
  return std::find(std::begin(kPrewarmShapes), std::end(kPrewarmShapes), shape) != std::end(kPrewarmShapes);
}
}  // namespace

void Scheduler::Core::prewarm_ready(Worker& w) {
  if (!w.wants_prewarm) return;
  w.prewarm = Prewarm{};
  w.prewarm.pending = true;
  w.prewarm.started = now_;
  prewarms_.push_back(&w);
}

// No lease, none between hand-off and lease, stream idle.
bool Scheduler::Core::prewarm_quiet(Worker& w) {
  if (!w.serves() || w.admission.active() || busy(w)) return false;
  bool quiet = true;
  for (Shape& s : w.shapes) quiet &= s.offered.empty() && unleased(s);
  return quiet;
}

void Scheduler::Core::prewarm_step() {
  if (prewarms_.empty() || stopped_) return;
  const std::vector<Worker*> order = prewarms_;
  for (Worker* w : order) {
    const bool over =
        std::none_of(w->ladder.begin() + std::min<std::ptrdiff_t>(w->prewarm.next, std::ssize(w->ladder)),
                     w->ladder.end(), prewarmed_shape);
    if (over && !w->admission.active()) end_prewarm(*w, false);
  }
  if (!ANELANE_BUG(32) && (!queue_.empty() || tickets_.size() > 0)) return;
  for (const auto& w : workers_)
    if (w != nullptr && w->admission.active() && w->admission.prewarm) return;
  const std::vector<Worker*> waiting = prewarms_;
  for (Worker* w : waiting)
    if (prewarm_quiet(*w) && prewarm_advance(*w)) return;
}

// True: an admission was started.
bool Scheduler::Core::prewarm_advance(Worker& w) {
  Prewarm& p = w.prewarm;
  for (; p.next < w.ladder.size(); ++p.next) {
    Shape& s = w.shapes[p.next];
    if (!prewarmed_shape(w.ladder[p.next])) continue;
    if (s.state == SlotState::kResident) {
      p.already_resident |= 1u << p.next;
      continue;
    }
    if (s.state != SlotState::kAbsent || !gate_free(gate_of(s))) return false;
    if (ledger_.free_now(w, false).fits(w.layers)) {
      start(s, true);
      return true;
    }
    // The first that does not fit ends it (L9.1).
    for (uint32_t i = p.next; i < w.ladder.size(); ++i)
      if (prewarmed_shape(w.ladder[i]) && w.shapes[i].state != SlotState::kResident) p.skipped |= 1u << i;
    break;
  }
  end_prewarm(w, false);
  return false;
}

void Scheduler::Core::end_prewarm(Worker& w, bool cancelled) {
  if (!w.prewarm.pending) return;
  w.prewarm.pending = false;
  std::erase(prewarms_, &w);
  const Prewarm& p = w.prewarm;
  Action& a = act_on(ActionKind::kPrewarmEnd, w);
  a.loaded = p.loaded;
  a.from_cache = p.from_cache;
  a.already_resident = p.already_resident;
  a.skipped_for_budget = p.skipped;
  a.failed = p.failed;
  a.cancelled = cancelled;
  a.total = now_ - p.started;
}

}  // namespace anelane::sched
