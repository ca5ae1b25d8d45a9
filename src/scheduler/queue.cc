// The compile queue: entries in the order of their start keys (L4.2), those placed behind others (L4.11), and
// the end of an entry that nobody waits for (L4.10).
//
// An entry's own key is fixed at arrival. Its place in the queue is that key, or directly behind the last
// entry whose accepted tickets it would cost their bound. Entries of a recovering worker keep standing in the
// list but count for nobody; they are placed anew when the worker is ready again.
#include <algorithm>

#include "scheduler/core.h"

namespace anelane::sched {
namespace {
constexpr Time kPromiseLeast = 2'000'000;  // L4.10
bool by_place(const Shape* a, const Shape* b) {
  return a->place < b->place;
}
}  // namespace

void Scheduler::Core::enqueue(Shape& s, const Ticket& first) {
  const Time cost = cost_of(s);
  s.own = QueueKey{now_ + (cost == kUnknown || ANELANE_BUG(22) ? 0 : cost), now_, first.id, 0};
  s.packed = first.packed;
  requeue(s);
}

// Also for an elected admission that was not sent: it keeps its key (L4.13).
void Scheduler::Core::requeue(Shape& s) {
  s.queued = true;
  s.place = s.own;
  insert(s);
}

void Scheduler::Core::insert(Shape& s) {
  s.place = s.own;
  const Shape* behind = nullptr;
  const Time cost = cost_of(s);
  if (s.worker->serves() && cost != kUnknown && cost > 0 && !ANELANE_BUG(1)) {
    const GateKind kind = gate_of(s);
    for (auto it = std::upper_bound(queue_.begin(), queue_.end(), &s, by_place); it != queue_.end(); ++it) {
      Shape& other = **it;
      if (gate_of(other) != kind || !other.worker->serves() || other.demand.empty()) continue;
      const Time ready = now_ + forecast(other).us;
      if (costs_a_bound(other, ready, ready + cost)) behind = &other;
    }
  }
  if (behind != nullptr) {
    s.place = behind->place;
    s.place.placed = ++placements_;
  }
  queue_.insert(std::upper_bound(queue_.begin(), queue_.end(), &s, by_place), &s);
}

void Scheduler::Core::remove_from_queue(Shape& s) {
  queue_.erase(std::find(queue_.begin(), queue_.end(), &s));
  s.queued = false;
}

// The worker is ready again: each of its entries is placed as a new one would be, with its own key (L4.11).
// The highest key first, so that none of them overtakes another at an accepted request's cost either.
void Scheduler::Core::return_entries(Worker& w) {
  std::vector<Shape*> entries;
  for (Shape& s : w.shapes)
    if (s.queued) entries.push_back(&s);
  std::sort(entries.begin(), entries.end(), [](const Shape* a, const Shape* b) { return b->own < a->own; });
  for (Shape* s : entries) remove_from_queue(*s);
  for (Shape* s : entries) requeue(*s);
}

// The shape is gone before its tickets could lease it: they queue as if they arrived now, with their old
// bounds (L3.7).
void Scheduler::Core::queue_anew(Shape& s) {
  if (s.demand.empty() || s.worker->retire_asked) return;
  if (s.queued) return;
  std::vector<Ticket*> all;
  for (Ticket* t = s.demand.first(); t != nullptr; t = t->next) all.push_back(t);
  for (Ticket* t : all) {
    s.demand.leave(t);
    t->arrival = now_;
    t->order = ++arrivals_;
    s.demand.join(t);
  }
  enqueue(s, *all.front());
  judge(s);
}

void Scheduler::Core::unwaited(Shape& s) {
  end_earmark(s);
  if (s.worker->retire_asked || !s.promised || now_ >= s.promise_ends) drop(s);
}

void Scheduler::Core::drop(Shape& s) {
  end_earmark(s);
  remove_from_queue(s);
  forget_promise(s);
  act_on(ActionKind::kDropped, s);
}

// L4.10. A new promise renews an old one, also a longer one.
void Scheduler::Core::promise(Shape& s, uint64_t retry_after_ms) {
  if (!s.queued && s.state != SlotState::kAdmitting) return;
  timers_.cancel(s.promise_timer);
  s.promised = true;
  s.promise_ends = now_ + std::max(2 * static_cast<Time>(retry_after_ms) * 1000, kPromiseLeast);
  if (ANELANE_BUG(18)) s.promise_ends = now_ + static_cast<Time>(retry_after_ms) * 1000;
  if (!ANELANE_BUG(26)) s.promise_timer = timers_.arm(s.promise_ends, TimerClass::kPromise, &s);
}

void Scheduler::Core::forget_promise(Shape& s) {
  timers_.cancel(s.promise_timer);
  s.promised = false;
}

}  // namespace anelane::sched
