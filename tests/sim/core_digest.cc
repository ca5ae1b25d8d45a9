// Left out: counters that only report, ids and generations (the world knows them), what follows from the
// rest. The machine factor is taken as it scales, not as its two sums.
#include "core_digest.h"

#include <algorithm>
#include <vector>

#include "scheduler/core.h"

namespace anelane::sched {

struct CoreDigest::Sum {
  const Scheduler::Core& c;
  uint64_t h = 0xcbf29ce484222325ull;
  std::vector<uint64_t> orders = {};   // of all tickets, ascending
  std::vector<TicketId> tickets = {};  // that queued entries are named after, ascending
  std::vector<Time> uses = {};         // of slots, ascending

  void add(uint64_t v) {
    v = (v ^ h) * 0x9e3779b97f4a7c15ull;
    h = (v ^ (v >> 29)) * 0xbf58476d1ce4e5b9ull;
    h ^= h >> 32;
  }
  void time(Time t) { add(t == kNever ? 0x7777u : static_cast<uint64_t>(t - c.now_)); }
  // Of which it only matters how far ahead it is.
  void ahead(Time t) { time(std::max(t, c.now_)); }
  template <typename T>
  static uint64_t rank(const std::vector<T>& sorted, T value) {
    return static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
  }
  void order(uint64_t value) { add(value == ~0ull ? ~0ull : rank(orders, value)); }
  void name(const Shape* s) { add(s == nullptr ? 0 : s->worker->id * 64u + s->rung + 1); }

  void collect() {
    for (const auto& w : c.workers_) {
      if (w == nullptr) continue;
      for (const Shape& s : w->shapes) {
        for (const Ticket* first : {s.demand.first(), s.offered.first(), s.lost.first()})
          for (const Ticket* t = first; t != nullptr; t = t->next) orders.push_back(t->order);
        if (s.queued || s.state == SlotState::kAdmitting) tickets.push_back(s.own.ticket);
        uses.push_back(s.gate->last_use());
      }
    }
    std::sort(orders.begin(), orders.end());
    std::sort(tickets.begin(), tickets.end());
    std::sort(uses.begin(), uses.end());
  }

  void add_tickets(const Ticket* first) {
    for (const Ticket* t = first; t != nullptr; t = t->next) {
      order(t->order);
      time(t->bound);
      add(static_cast<uint64_t>(t->state) | t->offers << 8 | uint64_t{t->pin} << 40 |
          uint64_t{t->take_at_once} << 41 | uint64_t{t->deadline_bound} << 42);
    }
    add(0x1157);
  }

  void add_shape(const Shape& s) {
    add(static_cast<uint64_t>(s.state) | uint64_t{s.held} << 8 | uint64_t{s.wake} << 9 |
        uint64_t{s.queued} << 10 | uint64_t{s.earmarked} << 11 | uint64_t{s.promised} << 12 |
        uint64_t{s.eviction_sent} << 13 | uint64_t{s.wake && s.wake_round == c.round_} << 14);
    add(s.gate->leases());
    add(rank(uses, s.gate->last_use()) * 2 + (s.gate->last_use() >= c.now_ ? 1 : 0));
    for (const TicketList* list : {&s.offered, &s.lost}) add_tickets(list->first());
    add_tickets(s.demand.first());
    if (s.queued || s.state == SlotState::kAdmitting) {
      time(s.own.key);
      time(s.own.arrival);
      add(rank(tickets, s.own.ticket));
    }
    if (s.queued) {
      time(s.place.key);
      time(s.place.arrival);
      add(s.place.placed != 0 ? 1 : 0);
    }
    for (const Shape* v : s.victims) name(v);
    if (s.promised) ahead(s.promise_ends);
    name(s.evicted_for);
    add(s.evicted_for_refusal == nullptr ? 0 : s.evicted_for_refusal->id);
    const std::string& program = s.worker->program;
    ahead(c.failures_.known_until(program, s.worker->ladder[s.rung], c.now_));
    add(static_cast<uint64_t>(c.failures_.recall(program, s.worker->ladder[s.rung], c.now_)));
    time(c.now_ + s.worker->costs.compile_cost(s.rung, c.factor_));
    add(static_cast<uint64_t>(s.worker->costs.load_cost(s.rung)) * 2 +
        (s.worker->costs.predicts_load(s.rung) ? 1 : 0));
  }

  void add_worker(const Worker& w) {
    add(static_cast<uint64_t>(w.state) | uint64_t{w.retire_asked} << 8 | uint64_t{w.ending} << 9 |
        uint64_t{w.broken} << 10 | uint64_t{w.stream_idle} << 11 | uint64_t{w.quarantined} << 12);
    add(w.blocked);
    const Admission& a = w.admission;
    name(a.shape);
    if (a.active()) {
      add(static_cast<uint64_t>(a.phase) | uint64_t{a.is_load} << 8 | uint64_t{a.repriced} << 9 |
          uint64_t{a.prewarm} << 10 | uint64_t{a.refused} << 11 | uint64_t{a.holds_gate} << 12 |
          static_cast<uint64_t>(a.gate) << 13 | uint64_t{a.evictions} << 16 |
          uint64_t{a.victims_tried} << 24);
      add(static_cast<uint64_t>(a.predicted));
      time(a.sent_at);
    }
    const Prewarm& p = w.prewarm;
    add(uint64_t{p.pending} | uint64_t{p.next} << 8 | uint64_t{p.loaded} << 16 | uint64_t{p.skipped} << 32);
    order(w.hold_after);
    for (const Time t : w.crashes) time(t);
    add(w.short_starts);
    ahead(w.probe_at);
    if (w.quarantined) time(w.ready_at);
    for (const Shape& s : w.shapes) add_shape(s);
  }

  void add_timer(Time due, TimerClass cls, const void* subject) {
    time(due);
    add(static_cast<uint64_t>(cls));
    switch (cls) {
      case TimerClass::kHandoff:
      case TimerClass::kBound:
        return order(static_cast<const Ticket*>(subject)->order);
      case TimerClass::kPromise:
        return name(static_cast<const Shape*>(subject));
      case TimerClass::kDecide:
        return;
      default:
        return add(static_cast<const Worker*>(subject)->id);
    }
  }

  void add_core() {
    collect();
    for (const auto& w : c.workers_)
      if (w != nullptr) add_worker(*w);
    for (const Shape* s : c.queue_) name(s);
    for (const Worker* w : c.prewarms_) add(w->id);
    for (const Gate& g : c.gates_) {
      for (const Worker* w : g.holders) add(w->id);
      time(std::max(g.free_since, c.now_ - c.options_.settle));
      ahead(g.shut_until);
    }
    add(static_cast<uint64_t>(c.factor_.scale(1'000'000'000)));
    order(c.hold_after_);
    add(uint64_t{c.hints_changed_} | uint64_t{c.head_blocked_} << 1 | uint64_t{c.stopped_} << 2);
    c.timers_.each([this](Time due, TimerClass cls, const void* subject) { add_timer(due, cls, subject); });
  }
};

uint64_t CoreDigest::of(const Scheduler& scheduler) {
  Sum sum{*scheduler.core_};
  sum.add_core();
  return sum.h;
}

}  // namespace anelane::sched
