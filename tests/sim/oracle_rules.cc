// What must hold at a start, an eviction, a grant.
#include <algorithm>

#include "oracle.h"

namespace anelane::sim {

using sched::EventKind;

bool Oracle::as_load(uint32_t m, uint32_t rung) const {
  return options_.parallel_load && costs_.is_load(m, rung);
}

bool Oracle::gate_taken(bool load, Time now) const {
  if (!load && now < shut_until_) return true;
  for (const Worker& w : workers_) {
    if (!w.work || !w.work->holds) continue;
    const bool holds_load = w.work->load && !w.work->repriced && options_.parallel_load;
    if (holds_load == load) return true;
  }
  return false;
}

bool Oracle::evictions_under_way() const {
  for (const Worker& w : workers_)
    for (const Rung& r : w.rungs)
      if (r.slot == Slot::kEvicting) return true;
  return false;
}

bool Oracle::fits(uint32_t m) const {
  int64_t own = 0;
  for (const Rung& r : workers_[m].rungs) own += r.slot != Slot::kAbsent ? 1 : 0;
  return charged_ + layers(m) <= options_.executable_budget && slots_ + 1 <= options_.shapes_total &&
         own + 1 <= options_.shapes_per_model;
}

// No room lane-wide, even if everything went that could possibly be taken.
bool Oracle::hopeless(uint32_t m) {
  int64_t charged = charged_, slots = slots_;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const Worker& w = workers_[i];
    for (uint32_t r = 0; r < w.rungs.size(); ++r) {
      const bool free = w.rungs[r].slot == Slot::kResident && !protects(w.rungs[r]) &&
                        world_.scheduler().gate(world_.worker_of(i), r).leases() == 0;
      if (!free && w.rungs[r].slot != Slot::kEvicting) continue;
      charged -= layers(i);
      --slots;
    }
  }
  return charged + layers(m) > options_.executable_budget || slots + 1 > options_.shapes_total;
}

// A gate whose head is certainly starved: every entry of it is settled, wanted, electable and without hope.
std::optional<Oracle::Starved> Oracle::starved_at(bool load, Time now) {
  for (const Worker& w : workers_) {
    const bool calm = w.state == Worker::State::kReady && !w.draining;
    if (!calm && w.state != Worker::State::kRetired && w.state != Worker::State::kNoProcess) return {};
    if (w.work && !w.work->lost) return {};  // leases may wait behind it
  }
  if (gate_taken(load, now)) return {};
  Starved starved;
  bool any = false;
  for (uint32_t m = 0; m < workers_.size(); ++m) {
    for (uint32_t r = 0; r < workers_[m].rungs.size(); ++r) {
      const Rung& rung = workers_[m].rungs[r];
      if (!rung.queued || as_load(m, r) != load) continue;
      any = true;
      int64_t own = 0;
      for (const Rung& other : workers_[m].rungs) own += other.slot != Slot::kAbsent ? 1 : 0;
      const bool certain = !rung.waiting.empty() && now >= rung.entry_arrival + options_.settle &&
                           workers_[m].state == Worker::State::kReady && !workers_[m].work && hopeless(m) &&
                           own + 1 <= options_.shapes_per_model;
      if (!certain) return {};
      starved.order = std::max(starved.order, *rung.waiting.begin());
      starved.key = std::max(starved.key, rung.key);
      starved.placed |= rung.maybe_placed;
    }
  }
  if (!any) return {};
  return starved;
}

// L3.5: while a head is starved, the other gate's head starts only if its key is lower.
void Oracle::check_starved_rival(Time now, uint32_t m, uint32_t rung) {
  const Rung& mine = workers_[m].rungs[rung];
  if (mine.maybe_earmarked || !options_.parallel_load) return;
  const auto rival = starved_at(!as_load(m, rung), now);
  if (rival && !rival->placed && mine.key > rival->key)
    fail(now, shape(m, rung) + " starts past a starved head of the other gate (L3.5)");
}

// L3.5, last clause: the entry before it, alone before it, would be ready in time now and too late after
// this.
void Oracle::check_costs_no_bound(Time now, uint32_t m, uint32_t rung) {
  const Rung& mine = workers_[m].rungs[rung];
  const Time cost = costs_.predicted(m, rung);
  if (cost == kUnknown || mine.maybe_earmarked) return;
  const Rung* first = nullptr;
  uint32_t first_model = 0, first_rung = 0;
  for (uint32_t i = 0; i < workers_.size(); ++i)
    for (uint32_t r = 0; r < workers_[i].rungs.size(); ++r) {
      const Rung& other = workers_[i].rungs[r];
      if (!other.queued || &other == &mine || as_load(i, r) != as_load(m, rung)) continue;
      if (first != nullptr && first->key <= other.key) continue;
      first = &other;
      first_model = i;
      first_rung = r;
    }
  if (first == nullptr || first->maybe_placed || first->key >= mine.key || first->waiting.empty()) return;
  const Worker& w = workers_[first_model];
  const Time other_cost = costs_.predicted(first_model, first_rung);
  if (w.state != Worker::State::kReady || w.draining || w.work || other_cost == kUnknown) return;
  const Time settle = std::max<Time>(0, first->entry_arrival + options_.settle - now);
  for (const uint64_t order : first->waiting) {
    const Time bound = tickets_[by_order_.at(order)].bound;
    if (bound >= now + settle + other_cost && bound < now + std::max(cost, settle) + other_cost)
      return fail(now, shape(m, rung) + " starts past " + shape(first_model, first_rung) +
                           " and costs a ticket there its bound (L3.5)");
  }
}

// L4.11 where it is certain: one entry waits at a gate that is held for a known time, and a second one comes.
void Oracle::note_followers(Time now, uint32_t m, uint32_t rung) {
  Rung& mine = workers_[m].rungs[rung];
  mine.follows.reset();
  const bool load = as_load(m, rung);
  const Time cost = costs_.predicted(m, rung);
  if (cost == kUnknown || workers_[m].state != Worker::State::kReady || workers_[m].draining) return;
  const Work* holder = nullptr;
  for (const Worker& w : workers_) {
    if (!w.work) continue;
    const bool holds_load = w.work->load && !w.work->repriced && options_.parallel_load;
    if (holds_load != load) continue;
    if (holder != nullptr || w.work->lost || w.work->repriced || !w.work->sent) return;
    holder = &*w.work;
  }
  if (holder == nullptr || holder->predicted == kUnknown || (!load && now < shut_until_)) return;
  const Time left = std::max<Time>(0, holder->sent_at + holder->predicted - now);
  std::optional<std::pair<uint32_t, uint32_t>> other;
  for (uint32_t i = 0; i < workers_.size(); ++i)
    for (uint32_t r = 0; r < workers_[i].rungs.size(); ++r) {
      if (!workers_[i].rungs[r].queued || as_load(i, r) != load || (i == m && r == rung)) continue;
      if (other) return;
      other = std::pair{i, r};
    }
  if (!other) return;
  const Worker& w = workers_[other->first];
  const Rung& first = w.rungs[other->second];
  const Time first_cost = costs_.predicted(other->first, other->second);
  if (w.state != Worker::State::kReady || w.draining || w.work || first_cost == kUnknown ||
      !fits(other->first) || first.key <= mine.key)
    return;
  const Time ready = now + std::max(left, first.entry_arrival + options_.settle - now) + first_cost;
  for (const uint64_t order : first.waiting) {
    const Time bound = tickets_[by_order_.at(order)].bound;
    if (bound < ready || bound >= ready + cost) continue;
    mine.follows = other;
    mine.follows_for = by_order_.at(order);
  }
}

void Oracle::on_start(Time now, const sched::Action& a, uint32_t m) {
  Worker& w = workers_[m];
  Rung& r = w.rungs[a.rung];
  if (w.work) {
    if (w.work->rung != a.rung || !w.work->paused || w.work->victim)
      fail(now, shape(m, a.rung) + " starts while its worker runs another admission");
    w.work->paused = false;
    return;
  }
  if (w.state != Worker::State::kReady || w.retiring)
    fail(now, shape(m, a.rung) + " starts on a worker that does not serve");
  if (r.slot != Slot::kAbsent) return fail(now, shape(m, a.rung) + " is admitted though it is not absent");
  if (gate_taken(as_load(m, a.rung), now))
    fail(now, shape(m, a.rung) + " starts while its gate is taken (L4.1)");
  if (!fits(m)) fail(now, shape(m, a.rung) + " starts without room (L2.4)");
  const Time cost = costs_.predicted(m, a.rung);
  if (a.predicted != cost || a.is_load != costs_.is_load(m, a.rung))
    fail(now, shape(m, a.rung) + " is predicted at " + std::to_string(a.predicted) + " us, not " +
                  std::to_string(cost) + " us (L4.4, L4.5)");
  if (a.prewarm) {
    if (!tickets_.empty()) fail(now, "prewarm starts while a ticket waits (L9.1)");
    for (const Worker& other : workers_)
      if (other.work && other.work->prewarm) fail(now, "two prewarm admissions at once (L9.1)");
  } else {
    if (!r.queued) fail(now, shape(m, a.rung) + " starts but nobody queued for it");
    if (cost != kUnknown && now < r.entry_arrival + options_.settle)
      fail(now, shape(m, a.rung) + " starts unsettled (L4.3)");
    for (const uint64_t order : r.waiting)
      if (cost != kUnknown && now + cost > tickets_[by_order_.at(order)].bound)
        fail(now, shape(m, a.rung) + " starts with a ticket that it must have answered (L4.9)");
    check_passing(now, m, a.rung);
    check_starved_rival(now, m, a.rung);
    check_costs_no_bound(now, m, a.rung);
    if (r.follows && tickets_.contains(r.follows_for)) {
      const auto& [fm, fr] = *r.follows;
      const Rung& first = workers_[fm].rungs[fr];
      if (first.queued && workers_[fm].state == Worker::State::kReady && !workers_[fm].work && fits(fm) &&
          now >= first.entry_arrival + options_.settle && !r.maybe_earmarked && !evictions_under_way())
        fail(now,
             shape(m, a.rung) + " overtakes " + shape(fm, fr) + " at an accepted request's cost (L4.11)");
    }
  }
  r.queued = false;
  w.work = Work{.rung = a.rung,
                .load = a.is_load,
                .prewarm = a.prewarm,
                .holds = true,
                .packed = r.packed && !a.prewarm,
                .predicted = a.predicted};
  move(m, a.rung, Slot::kAdmitting);
}

// Places behind others (L4.11) and earmarks (L3.7) are decisions of the past that the books do not repeat.
void Oracle::hear_excuses(Time now) {
  size_t entries = 0;
  for (const Worker& w : workers_)
    for (const Rung& r : w.rungs) entries += r.queued ? 1 : 0;
  // One alone can still pass what the end of an eviction sends back to the queue.
  if (entries < (evictions_under_way() ? 1 : 2)) return;
  for (const sched::QueueView& q : world_.scheduler().snapshot(now).queue) {
    const uint32_t m = model_of_.at(q.worker);
    for (uint32_t r = 0; r < workers_[m].rungs.size(); ++r) {
      if (workload_.models[m].rungs[r].shape != q.shape) continue;
      Rung& rung = workers_[m].rungs[r];
      rung.says_placed = q.key != rung.key;
      rung.says_earmarked = q.earmarked;
    }
  }
}

// Room kept for others counts as charged (L3.7).
bool Oracle::fits_beside_earmarks(uint32_t m, uint32_t rung) const {
  int64_t charged = charged_, slots = slots_, own = 0;
  for (uint32_t i = 0; i < workers_.size(); ++i)
    for (uint32_t r = 0; r < workers_[i].rungs.size(); ++r) {
      const Rung& other = workers_[i].rungs[r];
      if (i == m && other.slot != Slot::kAbsent) ++own;
      const bool kept = other.queued && other.says_earmarked && other.maybe_earmarked;
      if (!kept || (i == m && r == rung)) continue;
      charged += layers(i);
      ++slots;
      if (i == m) ++own;
    }
  return charged + layers(m) <= options_.executable_budget && slots + 1 <= options_.shapes_total &&
         own + 1 <= options_.shapes_per_model;
}

// L4.2: a settled entry that could start itself is passed only by lower keys, and so only by those that came
// less than its own cost after it.
void Oracle::check_passing(Time now, uint32_t m, uint32_t rung) {
  const Rung& mine = workers_[m].rungs[rung];
  if ((mine.says_earmarked && mine.maybe_earmarked) || replaced_) return;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    for (uint32_t r = 0; r < workers_[i].rungs.size(); ++r) {
      const Rung& other = workers_[i].rungs[r];
      if (&other == &mine || !other.queued || as_load(i, r) != as_load(m, rung)) continue;
      const bool ready = workers_[i].state == Worker::State::kReady && !workers_[i].draining &&
                         !workers_[i].work && !(other.says_placed && other.maybe_placed) &&
                         now >= other.entry_arrival + options_.settle && fits_beside_earmarks(i, r);
      if (!ready) continue;
      ++passings_judged_;
      if (other.key < mine.key)
        fail(now, shape(m, rung) + " passes " + shape(i, r) + ", whose key is lower (L4.2)");
    }
  }
}

void Oracle::on_evict(Time now, const sched::Action& a, uint32_t m) {
  Worker& w = workers_[m];
  Rung& r = w.rungs[a.rung];
  if (r.slot != Slot::kResident) return fail(now, shape(m, a.rung) + " is evicted but not resident");
  const auto id = world_.worker_of(m);
  if (world_.scheduler().gate(id, a.rung).leases() != 0)
    fail(now, shape(m, a.rung) + " is evicted under a lease (L3.2)");
  if (protects(r)) fail(now, shape(m, a.rung) + " is evicted while its cohort may come (L3.6)");
  if (w.state != Worker::State::kReady) fail(now, shape(m, a.rung) + " is evicted on a worker that is gone");
  bool for_compile = false;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    for (uint32_t k = 0; k < workers_[i].rungs.size(); ++k)
      for_compile |= workers_[i].rungs[k].queued && !as_load(i, k);
    for_compile |= workers_[i].work && workers_[i].work->paused &&
                   (!workers_[i].work->load || workers_[i].work->repriced);
  }
  if (w.work && w.work->sent && !w.work->lost && !for_compile)
    fail(now, shape(m, a.rung) + ": a victim on a worker that admits, without a compile (L3.7)");
  // LRU within one worker: everything else being equal, the least recently used goes first.
  for (uint32_t other = 0; other < w.rungs.size(); ++other) {
    const Rung& o = w.rungs[other];
    if (other == a.rung || o.slot != Slot::kResident || protects(o) || o.waiting.empty() != r.waiting.empty())
      continue;
    if (other == 0 || a.rung == 0) continue;
    auto& gate = world_.scheduler().gate(id, other);
    if (gate.leases() == 0 && gate.last_use() < world_.scheduler().gate(id, a.rung).last_use())
      fail(now,
           shape(m, a.rung) + " is evicted before the less recently used " + shape(m, other) + " (L3.7)");
  }
  replaced_ = true;
  for (Worker& any : workers_)
    for (Rung& entry : any.rungs) entry.maybe_earmarked = true;
  move(m, a.rung, Slot::kEvicting);
}

void Oracle::on_grant(Time now, const sched::Event& e, const sched::Action& a) {
  const auto it = tickets_.find(a.ticket);
  if (it == tickets_.end())
    return fail(now, "ticket " + std::to_string(a.ticket) + " is granted twice or was never asked");
  const Ticket& t = it->second;
  const Worker& w = workers_[t.model];
  if (w.rungs[t.rung].slot != Slot::kResident || w.state != Worker::State::kReady || w.draining)
    fail(now, shape(t.model, t.rung) + " is leased though it is not resident (L3.3)");
  if (w.retiring) fail(now, "a lease after retirement (L7.1)");
  if (world_.scheduler().gate(world_.worker_of(t.model), t.rung).leases() == 0)
    fail(now, "a grant that pins nothing");
  const bool cohort = t.offered || (e.kind == EventKind::kAdmissionDone && e.rung == t.rung &&
                                    model_of_.at(e.worker) == t.model);
  for (const bool load : {false, true}) {
    // Starved before the event and still after it.
    const auto& was = starved_before_[load ? 1 : 0];
    if (cohort || !was || t.order <= was->order) continue;
    const auto is = starved_at(load, now);
    if (is && t.order > is->order)
      fail(now, "ticket " + std::to_string(a.ticket) + " leases past a starved head (L3.5)");
  }
  forget_ticket(a.ticket);
}

}  // namespace anelane::sim
