// What must hold after each step: the books agree, nobody waits without a reason, nothing stands idle that
// could go, and what is told of waiting is true.
#include <algorithm>

#include "oracle.h"

namespace anelane::sim {

using sched::EventKind;

void Oracle::check_books(Time now) {
  if (charged_ > options_.executable_budget || slots_ > options_.shapes_total)
    fail(now, "more is charged than allowed (L3.1)");
  for (uint32_t m = 0; m < workers_.size(); ++m) {
    int64_t own = 0;
    for (const Rung& r : workers_[m].rungs) own += r.slot != Slot::kAbsent ? 1 : 0;
    if (own > options_.shapes_per_model) fail(now, "a model has more shapes than allowed (L2.4)");
  }
  if (static_cast<uint64_t>(charged_) != world_.scheduler().charged())
    fail(now, "the scheduler charges " + std::to_string(world_.scheduler().charged()) + ", the books say " +
                  std::to_string(charged_) + " (L3.1)");
}

void Oracle::check_waits(Time now, const sched::Event& e) {
  if (!bounds_.empty()) {
    const bool over = e.kind == EventKind::kTimer ? *bounds_.begin() <= now : *bounds_.begin() < now;
    if (over) fail(now, "a ticket waits beyond its bound (L4.12)");
    if (world_.scheduler().next_due() > *bounds_.begin()) fail(now, "no timer for a ticket's bound (L6.5)");
  }
  bool resident_waits = false, short_of_room = false;
  for (uint32_t m = 0; m < workers_.size(); ++m) {
    const Worker& w = workers_[m];
    for (uint32_t r = 0; r < w.rungs.size(); ++r) {
      const Rung& rung = w.rungs[r];
      if (rung.queued && rung.waiting.empty()) {
        const bool over = rung.promised_until == kNever || now > rung.promised_until;
        if (over) fail(now, shape(m, r) + " is kept queued for nobody (L4.10)");
      }
      for (const uint64_t id : rung.offered) {
        const Ticket& t = tickets_[id];
        const Time end = t.offered_at + (t.offers == 1 ? options_.handoff : options_.lease_max);
        if (world_.scheduler().next_due() > end) fail(now, "a hand-off would not end by itself (L3.6)");
      }
      resident_waits |= !rung.waiting.empty() && rung.slot == Slot::kResident &&
                        w.state == Worker::State::kReady && !w.draining;
      // Room may be kept for an earmarked entry, though it is free.
      short_of_room |= rung.queued && !rung.waiting.empty() && (!fits(m) || rung.maybe_earmarked);
      if (w.broken_at != kNever && now > w.broken_at + options_.exit_timeout && !rung.waiting.empty())
        fail(now, "a ticket waits for a worker whose exit is overdue (L6.2)");
      if (w.retiring && (!rung.waiting.empty() || !rung.offered.empty()))
        fail(now, "a ticket waits for a retired model (L7.2)");
    }
  }
  if (resident_waits && !short_of_room && !evictions_under_way())
    fail(now, "a ticket waits for a resident shape for no reason (L3.3)");
}

// Somebody waits for room at a free gate, and this release gives it: the scheduler must hear of it.
void Oracle::released(Time now, uint32_t m, uint32_t rung, bool told) {
  const Rung& r = workers_[m].rungs[rung];
  const auto& gate = world_.scheduler().gate(world_.worker_of(m), rung);
  if (told || gate.leases() != 0 || r.slot != Slot::kResident || protects(r) || workers_[m].work ||
      workers_[m].state != Worker::State::kReady)
    return;
  for (const bool load : {false, true}) {
    if (gate_taken(load, now)) continue;
    for (uint32_t i = 0; i < workers_.size(); ++i) {
      for (uint32_t k = 0; k < workers_[i].rungs.size(); ++k) {
        const Rung& entry = workers_[i].rungs[k];
        const bool short_of_room = entry.queued && !entry.waiting.empty() && as_load(i, k) == load &&
                                   !fits(i) && workers_[i].state == Worker::State::kReady &&
                                   !workers_[i].draining && !workers_[i].work &&
                                   now > entry.entry_arrival + 2 * options_.settle;
        // The only entry, so that it is the head; and no eviction that might serve it.
        size_t entries = 0;
        for (const Worker& w : workers_)
          for (const Rung& other : w.rungs) entries += other.queued ? 1 : 0;
        if (short_of_room && entries == 1 && !evictions_under_way() && !hopeless(i) && m == i)
          fail(now, shape(i, k) + " waits for room, and the release of " + shape(m, rung) + " is not told");
      }
    }
  }
}

// A gate stands idle only if nobody could start.
void Oracle::check_idle_gates(Time now) {
  if (evictions_under_way()) return;
  for (const bool load : {false, true}) {
    if (gate_taken(load, now)) continue;
    bool any = false, all_could = true;
    Time costs = 0;
    for (uint32_t m = 0; m < workers_.size(); ++m) {
      for (uint32_t r = 0; r < workers_[m].rungs.size(); ++r) {
        const Rung& rung = workers_[m].rungs[r];
        if (!rung.queued) continue;
        if (!rung.waiting.empty() && rung.maybe_earmarked) all_could = false;  // room may be kept for it
        costs += std::max<Time>(0, costs_.predicted(m, r));
        if (as_load(m, r) != load) {
          all_could = all_could && fits(m);  // no starved rival
          continue;
        }
        any = true;
        all_could = all_could && workers_[m].state == Worker::State::kReady && !workers_[m].draining &&
                    !workers_[m].work && now >= rung.entry_arrival + options_.settle && fits(m);
      }
    }
    // Nobody starts past a ticket that this would cost its bound (L3.5).
    if (any && all_could && (bounds_.empty() || now + costs < *bounds_.begin()))
      fail(now, "a gate stands idle though everybody could start (L4.8)");
  }
}

// The only entry, at an open gate, is short of room that it could take: whatever gave that room, be it the
// end of a hand-off without any other event (L3.6), it must have been used (L3.5).
void Oracle::check_idle_room(Time now) {
  if (evictions_under_way()) return;
  std::optional<std::pair<uint32_t, uint32_t>> only;
  for (uint32_t m = 0; m < workers_.size(); ++m)
    for (uint32_t r = 0; r < workers_[m].rungs.size(); ++r) {
      if (!workers_[m].rungs[r].queued) continue;
      if (only) return;
      only = std::pair{m, r};
    }
  if (!only) return;
  const auto [m, r] = *only;
  const Worker& w = workers_[m];
  const Rung& entry = w.rungs[r];
  if (entry.waiting.empty() || w.state != Worker::State::kReady || w.draining || w.work || fits(m) ||
      gate_taken(as_load(m, r), now) || now < entry.entry_arrival + options_.settle)
    return;
  int64_t charged = charged_, slots = slots_, own = 0;
  for (const Rung& other : w.rungs) own += other.slot != Slot::kAbsent ? 1 : 0;
  const bool short_itself = own + 1 > options_.shapes_per_model;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const Worker& v = workers_[i];
    if (v.state != Worker::State::kReady || v.draining || v.work || (short_itself && i != m)) continue;
    for (uint32_t k = 0; k < v.rungs.size(); ++k) {
      const Rung& victim = v.rungs[k];
      if (victim.slot != Slot::kResident || protects(victim)) continue;
      if (world_.scheduler().gate(world_.worker_of(i), k).leases() != 0) continue;
      charged -= layers(i);
      --slots;
      if (i == m) --own;
    }
  }
  if (charged + layers(m) <= options_.executable_budget && slots + 1 <= options_.shapes_total &&
      own + 1 <= options_.shapes_per_model)
    fail(now, shape(m, r) + " is short of room and leaves victims where they are (L3.5)");
}

void Oracle::check_single_arrival(Time now, const sched::Event& e, std::span<const sched::Action> actions) {
  if (e.kind != EventKind::kRequest || !tickets_.contains(e.ticket)) return;
  const Ticket& t = tickets_.at(e.ticket);
  const Worker& w = workers_[t.model];
  const Rung& r = w.rungs[t.rung];
  if (w.state != Worker::State::kReady || w.work || w.draining || w.retiring || r.slot != Slot::kAbsent ||
      !r.queued)
    return;
  if (r.entry_arrival != now || r.waiting.size() != 1 || now < failed_until(t.model, t.rung)) return;
  if (layers(t.model) > options_.executable_budget || tickets_.size() > options_.max_waiting) return;
  if (gate_taken(as_load(t.model, t.rung), now)) return;
  for (const Worker& any : workers_)
    for (const Rung& other : any.rungs)
      if (&other != &r && other.queued) return;
  const Time cost = costs_.predicted(t.model, t.rung);
  const Time delay = cost == kUnknown ? 0 : options_.settle + cost;
  const auto answer = std::find_if(actions.begin(), actions.end(), [&](const sched::Action& a) {
    return a.ticket == e.ticket && a.kind == sched::ActionKind::kAnswer;
  });
  const bool told = answer != actions.end() && answer->code == Code::kShapeCompiling;
  if (told != (now + delay > t.bound)) fail(now, "a lone request is not told what it should be (L4.9)");
  const auto retry = static_cast<uint64_t>(std::max<Time>((delay + 999) / 1000, cost == kUnknown ? 250 : 1));
  if (told && answer->retry_after_ms != retry) fail(now, "retry_after_ms is not the predicted delay (L4.9)");
}

void Oracle::check_snapshot(Time now) {
  const sched::Snapshot s = world_.scheduler().snapshot(now);
  uint32_t resident = 0, queued = 0;
  std::string names;
  for (const Worker& w : workers_)
    for (const Rung& r : w.rungs) {
      resident += r.slot == Slot::kResident ? 1 : 0;
      queued += r.queued ? 1 : 0;
      if (r.queued)
        names += " " + shape(static_cast<uint32_t>(&w - workers_.data()),
                             static_cast<uint32_t>(&r - w.rungs.data()));
    }
  if (s.charged != charged_ || s.waiting != tickets_.size() || s.resident != resident ||
      s.queue.size() != queued)
    fail(now, "the snapshot is not what happened: waiting " + std::to_string(tickets_.size()) +
                  ", resident " + std::to_string(resident) + ", queued " + std::to_string(queued) + names);
}

}  // namespace anelane::sim
