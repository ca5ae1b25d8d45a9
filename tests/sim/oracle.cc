// Tracking and the checks after each step. Where the books cannot be sure, a rule is not applied rather than
// bent: every rule here is one that no correct history breaks.
#include "oracle.h"

#include <algorithm>

namespace anelane::sim {

using sched::ActionKind;
using sched::EventKind;

namespace {
constexpr Time kSlack = 1'000'000;
}  // namespace

Oracle::Oracle(LaneView& world, const Workload& workload)
    : world_(world), workload_(workload), options_(workload.options), costs_(workload) {
  for (const Model& m : workload.models) workers_.emplace_back().rungs.resize(m.rungs.size());
}

std::string Oracle::shape(uint32_t model, uint32_t rung) const {
  return workload_.models[model].name + ":" + std::to_string(workload_.models[model].rungs[rung].shape);
}

void Oracle::fail(Time now, const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = "at " + std::to_string(now) + " us, step " + std::to_string(steps_) + ": " + what;
  // What the scheduler says of itself, for whoever has to find out why.
  const sched::Snapshot s = world_.scheduler().snapshot(now);
  for (const sched::WorkerView& w : s.workers) {
    violation_ += "\n    " + w.name + " " + w.state;
    for (const sched::SlotView& v : w.slots)
      violation_ += " " + std::to_string(v.shape) + "=" + v.state + "/" + std::to_string(v.leases);
  }
  for (const sched::QueueView& q : s.queue)
    violation_ += "\n    queued " + workload_.models[model_of_.at(q.worker)].name + ":" +
                  std::to_string(q.shape) + (q.is_load ? " load" : " compile") + ", waiting " +
                  std::to_string(q.waiting) + ", key " + std::to_string(q.key) + ", cost " +
                  std::to_string(q.predicted);
  violation_ += "\n    budget " + std::to_string(s.charged) + "/" + std::to_string(s.budget) + ", shapes " +
                std::to_string(options_.shapes_total) + ", per model " +
                std::to_string(options_.shapes_per_model);
}

void Oracle::fault_hit(uint32_t model, FaultKind kind) {
  workers_[model].faults |= 1u << static_cast<unsigned>(kind);
}

void Oracle::move(uint32_t model, uint32_t rung, Slot to) {
  static constexpr const char* kNames[] = {"absent", "admitting", "resident", "evicting", "failed"};
  Worker& w = workers_[model];
  Rung& r = w.rungs[rung];
  const std::string way =
      std::string(kNames[static_cast<size_t>(r.slot)]) + ">" + kNames[static_cast<size_t>(to)];
  static constexpr const char* kFaults[] = {"crash", "error", "refuse", "slow"};
  for (unsigned i = 0; i < std::size(kFaults); ++i)
    if ((w.faults >> i & 1u) != 0) ++coverage_[{way, kFaults[i]}];
  if (w.faults == 0) ++coverage_[{way, "none"}];
  if (w.retiring) ++coverage_[{way, "retiring"}];
  const bool before = r.slot != Slot::kAbsent, after = to != Slot::kAbsent;
  charged_ += (after ? layers(model) : 0) - static_cast<int64_t>(before ? layers(model) : 0);
  slots_ += static_cast<int64_t>(after) - static_cast<int64_t>(before);
  r.slot = to;
  r.sent = false;
}

void Oracle::before(Time now, const sched::Event& e) {
  ++steps_;
  if (model_of_.empty())
    for (uint32_t m = 0; m < workers_.size(); ++m) model_of_[world_.worker_of(m)] = m;
  opened_ = nullptr;
  hear_excuses(now);
  replaced_ = e.kind == EventKind::kWorkerReady || e.kind == EventKind::kFault ||
              e.kind == EventKind::kExitConfirmed || e.kind == EventKind::kStartFailed;
  pass_time(now, e);
  // After that: an offer that ends now leaves a victim, and no head is starved for want of it.
  starved_before_ = {starved_at(false, now), starved_at(true, now)};
  take_event(now, e);
}

void Oracle::after(Time now, const sched::Event& e, std::span<const sched::Action> actions) {
  if (!violation_.empty()) return;
  if (!world_.scheduler().broken().empty()) return fail(now, "the core: " + world_.scheduler().broken());
  check_single_arrival(now, e, actions);
  take_refusals(now, actions);
  for (const sched::Action& a : actions) take_action(now, e, a);
  check_books(now);
  check_waits(now, e);
  check_memory(now, e);
  check_idle_gates(now);
  check_idle_room(now);
  if (steps_ % 16 == 0) check_snapshot(now);
}

// What time itself does when the scheduler is told of it.
void Oracle::pass_time(Time now, const sched::Event& e) {
  if (e.kind != EventKind::kTimer) return;
  for (Worker& w : workers_) {
    if (w.work && w.work->load && w.work->sent && !w.work->lost && !w.work->repriced &&
        w.work->predicted != kUnknown && now >= w.work->sent_at + 2 * w.work->predicted + kSlack) {
      w.work->repriced = true;
      w.work->predicted = costs_.compile(static_cast<uint32_t>(&w - workers_.data()), w.work->rung);
    }
    if (w.work && w.work->lost && now >= w.work->lost_at + options_.gate_hold) w.work->holds = false;
    for (Rung& r : w.rungs) {
      for (auto it = r.offered.begin(); it != r.offered.end();) {
        Ticket& t = tickets_[*it];
        const Time span = t.offers == 1 ? options_.handoff : options_.lease_max;
        if (now < t.offered_at + span) {
          ++it;
          continue;
        }
        t.offered = false;
        t.lost = true;
        it = r.offered.erase(it);
      }
    }
  }
}

void Oracle::take_event(Time now, const sched::Event& e) {
  if (e.kind == EventKind::kRequest) {
    if (tickets_.contains(e.ticket)) return;
    Ticket t{.model = model_of_.at(e.worker), .rung = e.rung};
    t.own_deadline = e.deadline < now + options_.admission_bound;
    t.bound = std::min(e.deadline, now + options_.admission_bound);
    t.pin = e.pin;
    t.packed = e.packed;
    join(now, e.ticket, t);
    tickets_[e.ticket] = t;
    bounds_.insert(t.bound);
    return;
  }
  if (e.kind == EventKind::kTake) {
    const auto it = tickets_.find(e.ticket);
    if (it == tickets_.end() || !it->second.lost) return;
    it->second.lost = false;
    return join(now, e.ticket, it->second);
  }
  if (e.worker == 0) return;
  const uint32_t m = model_of_.at(e.worker);
  Worker& w = workers_[m];
  if (e.kind == EventKind::kRetire) {
    if (w.state == Worker::State::kRetired) return;
    w.retiring = true;
    if (!w.work || !w.work->paused) return;
    w.rungs[w.work->rung].queued = true;  // it goes back to the queue, only to be dropped
    move(m, w.work->rung, Slot::kAbsent);
    w.work.reset();
    return;
  }
  if (e.generation != w.generation) return;
  switch (e.kind) {
    case EventKind::kWorkerReady:
      if (w.state != Worker::State::kStarting || w.retiring) return;
      w.state = Worker::State::kReady;
      w.faults &= 1u;  // what was armed died with its process; that it crashed is remembered
      costs_.report(m, e.mask);
      for (Rung& r : w.rungs) r.maybe_placed = true;
      for (Worker& any : workers_)  // who stands where was decided anew
        for (Rung& r : any.rungs)
          if (&any == &w || (r.follows && r.follows->first == m)) r.follows.reset();
      return;
    case EventKind::kStartFailed:
      if (w.state == Worker::State::kStarting) w.state = Worker::State::kNoProcess;
      return;
    case EventKind::kAdmissionSent:
      if (!w.work || w.work->rung != e.rung || w.work->sent) return;
      w.work->sent = true;
      w.work->sent_at = now;
      return;
    case EventKind::kAdmissionDone:
      return take_admission_done(now, e, m);
    case EventKind::kEvictionSent:
      if (w.rungs[e.rung].slot == Slot::kEvicting) w.rungs[e.rung].sent = true;
      return;
    case EventKind::kEvictionDone:
      if (w.rungs[e.rung].slot != Slot::kEvicting) return;
      if (e.code != Code::kOk) return take_fault(now, m);
      for (Worker& asker : workers_) {
        if (!asker.work || asker.work->victim != std::pair{m, e.rung}) continue;
        asker.work->victim.reset();
        if (++asker.work->evictions > 3) fail(now, "a fourth victim for one refusal (L4.15)");
      }
      move(m, e.rung, Slot::kAbsent);
      return gone(now, m, e.rung);
    case EventKind::kFault:
      return take_fault(now, m);
    case EventKind::kExitConfirmed:
      return take_exit(now, m);
    default:
      return;
  }
}

void Oracle::take_admission_done(Time now, const sched::Event& e, uint32_t m) {
  Worker& w = workers_[m];
  if (!w.work || w.work->rung != e.rung || w.work->lost || !w.work->sent) return;
  if (e.code == Code::kResourcesExhausted) {
    w.work->sent = false;
    w.work->refused = w.work->paused = w.work->undecided = true;
    w.work->prewarm = false;  // whoever joined it makes it an admission like any other (L9.2)
    w.work->victim.reset();
    return;  // the actions tell whether it goes on
  }
  const Work work = *w.work;
  w.work.reset();
  if (e.code == Code::kOk) {
    const bool counts = e.cache_hit + e.compiled > 0;
    costs_.learned(m, e.rung, counts, e.compiled > 0,
                   work.refused || work.packed || !e.learn ? kUnknown : now - work.sent_at);
    return move(m, e.rung, Slot::kResident);
  }
  move(m, e.rung, Slot::kAbsent);
  if (!e.permanent) return;
  failed_until(m, e.rung) = now + 15'000'000;
}

Time& Oracle::failed_until(uint32_t m, uint32_t rung) {
  const Model& model = workload_.models[m];
  return failed_until_[{model.program.empty() ? model.name : model.program, model.rungs[rung].shape}];
}

void Oracle::take_fault(Time now, uint32_t m) {
  Worker& w = workers_[m];
  const bool open = w.state == Worker::State::kReady || w.state == Worker::State::kStarting ||
                    w.state == Worker::State::kBroken;
  if (!open || w.broken_at != kNever) return;
  w.broken_at = now;
  w.state = Worker::State::kBroken;
  if (w.work && w.work->sent) {
    w.work->lost = true;
    w.work->lost_at = now;
    move(m, w.work->rung, Slot::kFailed);
  } else if (w.work && w.work->paused) {
    move(m, w.work->rung, Slot::kAbsent);
    w.work.reset();
  }
  for (uint32_t r = 0; r < w.rungs.size(); ++r) {
    for (Worker& asker : workers_)
      if (asker.work && asker.work->victim == std::pair{m, r}) {
        asker.work->victim.reset();
        asker.work->undecided = true;
      }
    if (w.rungs[r].slot == Slot::kEvicting && w.rungs[r].sent) move(m, r, Slot::kFailed);
    for (const uint64_t id : w.rungs[r].offered) {
      tickets_[id].offered = false;
      tickets_[id].lost = true;
    }
    w.rungs[r].offered.clear();
  }
}

void Oracle::take_exit(Time now, uint32_t m) {
  Worker& w = workers_[m];
  if (w.state == Worker::State::kNoProcess || w.state == Worker::State::kRetired) return;
  if (w.work && w.work->lost && (!w.work->load || w.work->repriced || !options_.parallel_load) &&
      options_.daemon_goes_on) {
    const Time left = w.work->predicted;
    const Time rest = left == kUnknown
                          ? options_.gate_hold
                          : std::clamp<Time>(left - (now - w.work->sent_at), 0, options_.gate_hold);
    shut_until_ = std::max(shut_until_, now + rest);
  }
  w.work.reset();
  for (uint32_t r = 0; r < w.rungs.size(); ++r) {
    for (const uint64_t id : w.rungs[r].offered) {
      tickets_[id].offered = false;
      tickets_[id].lost = true;
    }
    w.rungs[r].offered.clear();
    for (Worker& asker : workers_) {
      if (!asker.work || asker.work->victim != std::pair{m, r}) continue;
      asker.work->victim.reset();
      ++asker.work->evictions;
    }
    if (w.rungs[r].slot != Slot::kAbsent) move(m, r, Slot::kAbsent);
    gone(now, m, r);
  }
  w.state = Worker::State::kNoProcess;
  w.broken_at = kNever;
  w.draining = w.ending = false;
}

// Whoever waited for the shape queues as if it came now (L3.7).
void Oracle::gone(Time now, uint32_t m, uint32_t rung) {
  Rung& r = workers_[m].rungs[rung];
  if (r.queued || r.waiting.empty()) return;
  const std::set<uint64_t> old = r.waiting;
  r.waiting.clear();
  for (const uint64_t order : old) {
    const sched::TicketId id = by_order_.at(order);
    by_order_.erase(order);
    Ticket& t = tickets_[id];
    t.order = ++orders_;
    t.arrived = now;
    by_order_[t.order] = id;
    r.waiting.insert(t.order);
  }
  open_entry(now, m, rung);
  r.packed = tickets_[by_order_.at(*r.waiting.begin())].packed;
}

void Oracle::open_entry(Time now, uint32_t m, uint32_t rung) {
  Rung& r = workers_[m].rungs[rung];
  r.queued = true;
  r.entry_arrival = now;
  const Time cost = costs_.predicted(m, rung);
  r.key = now + std::max<Time>(cost, 0);
  r.promised_until = kNever;
  r.maybe_earmarked = evictions_under_way();
  // Behind another only if somebody's bound is within all that could come before it.
  Time total = options_.settle;
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].work)
      total += std::max<Time>(0, workers_[i].work->predicted) +
               std::max<Time>(0, costs_.compile(i, workers_[i].work->rung));
    for (uint32_t k = 0; k < workers_[i].rungs.size(); ++k)
      if (workers_[i].rungs[k].queued) total += std::max<Time>(0, costs_.predicted(i, k));
  }
  note_followers(now, m, rung);
  r.maybe_placed = (!bounds_.empty() && *bounds_.begin() < now + total) || now < shut_until_;
  r.says_placed = r.maybe_placed;  // until it is heard
  r.says_earmarked = false;
}

void Oracle::join(Time now, sched::TicketId id, Ticket& t) {
  Worker& w = workers_[t.model];
  Rung& r = w.rungs[t.rung];
  t.arrived = now;
  t.order = ++orders_;
  by_order_[t.order] = id;
  r.waiting.insert(t.order);
  const bool wait_for_slot =
      r.slot == Slot::kAdmitting ||
      (w.state == Worker::State::kReady && !w.draining && r.slot != Slot::kAbsent && r.slot != Slot::kFailed);
  if (wait_for_slot || r.queued) return;
  open_entry(now, t.model, t.rung);
  r.packed = t.packed;
  opened_ = &r;
}

void Oracle::forget_ticket(sched::TicketId id) {
  const auto it = tickets_.find(id);
  const Ticket& t = it->second;
  Rung& r = workers_[t.model].rungs[t.rung];
  r.waiting.erase(t.order);
  r.offered.erase(id);
  by_order_.erase(t.order);
  bounds_.erase(bounds_.find(t.bound));
  tickets_.erase(it);
}

// How refused admissions go on (L4.15): another victim, or their tickets are answered and it is over.
void Oracle::take_refusals(Time now, std::span<const sched::Action> actions) {
  size_t next_victim = 0;
  for (uint32_t m = 0; m < workers_.size(); ++m) {
    Worker& w = workers_[m];
    if (!w.work || !w.work->undecided) continue;
    w.work->undecided = false;
    Rung& r = w.rungs[w.work->rung];
    bool answered = r.waiting.empty();
    for (const sched::Action& a : actions)
      answered |= a.kind == ActionKind::kAnswer && a.code == Code::kResourcesExhausted &&
                  tickets_.contains(a.ticket) && tickets_.at(a.ticket).model == m &&
                  tickets_.at(a.ticket).rung == w.work->rung;
    if (!answered) {
      while (next_victim < actions.size() && actions[next_victim].kind != ActionKind::kStartEviction)
        ++next_victim;
      if (next_victim == actions.size())
        return fail(now, "a refused admission neither ends nor evicts (L4.15)");
      const sched::Action& a = actions[next_victim++];
      w.work->victim = std::pair{model_of_.at(a.worker), a.rung};
      continue;
    }
    const bool restart = w.work->evictions > 0 && !r.waiting.empty();
    move(m, w.work->rung, restart ? Slot::kFailed : Slot::kAbsent);
    w.work.reset();
    r.queued = false;
    if (!restart || w.state != Worker::State::kReady || w.retiring) continue;
    w.draining = true;
    for (Rung& other : w.rungs) {
      for (const uint64_t id : other.offered) {
        tickets_[id].offered = false;
        tickets_[id].lost = true;
      }
      other.offered.clear();
    }
  }
}

void Oracle::take_action(Time now, const sched::Event& e, const sched::Action& a) {
  if (!model_of_.contains(a.worker)) {
    if (a.kind == ActionKind::kAnswer && tickets_.contains(a.ticket)) forget_ticket(a.ticket);
    return;
  }
  const uint32_t m = model_of_.at(a.worker);
  Worker& w = workers_[m];
  if (a.kind != ActionKind::kAnswer && a.kind != ActionKind::kSpawn && a.generation != w.generation)
    fail(now, "an action names a dead generation");
  switch (a.kind) {
    case ActionKind::kStartAdmission:
      return on_start(now, a, m);
    case ActionKind::kWithdrawAdmission:
      if (!w.work || w.work->sent) return fail(now, shape(m, a.rung) + " is withdrawn though it was sent");
      // Whoever joined a prewarm queues now, unless the model is retired.
      w.rungs[a.rung].queued = !w.work->prewarm || (!w.rungs[a.rung].waiting.empty() && !w.retiring);
      w.rungs[a.rung].maybe_placed = true;
      if (w.work->prewarm) w.rungs[a.rung].entry_arrival = now;
      if (w.work->prewarm && !w.rungs[a.rung].waiting.empty())
        w.rungs[a.rung].packed = tickets_[by_order_.at(*w.rungs[a.rung].waiting.begin())].packed;
      w.work.reset();
      return move(m, a.rung, Slot::kAbsent);
    case ActionKind::kStartEviction:
      return on_evict(now, a, m);
    case ActionKind::kWithdrawEviction:
      if (w.rungs[a.rung].slot != Slot::kEvicting || w.rungs[a.rung].sent)
        return fail(now, shape(m, a.rung) + ": an eviction on the wire is withdrawn");
      return move(m, a.rung, Slot::kResident);
    case ActionKind::kGrant:
      return on_grant(now, e, a);
    case ActionKind::kOffer: {
      const auto it = tickets_.find(a.ticket);
      if (it == tickets_.end() || w.rungs[a.rung].slot != Slot::kResident)
        return fail(now, "a lease is offered that cannot be taken");
      Ticket& t = it->second;
      w.rungs[a.rung].waiting.erase(t.order);
      w.rungs[a.rung].offered.insert(a.ticket);
      t.offered = true;
      t.offered_at = now;
      ++t.offers;
      return;
    }
    case ActionKind::kAnswer:
      return on_answer(now, e, a);
    case ActionKind::kRecover:
    case ActionKind::kCloseWorker:
      w.ending = true;
      if (a.kind == ActionKind::kCloseWorker && !w.retiring)
        fail(now, "a worker is closed that nobody retires");
      if (w.broken_at == kNever && w.state == Worker::State::kReady && !w.retiring && !w.draining)
        fail(now, "a healthy worker is ended");
      w.state = Worker::State::kBroken;
      return;
    case ActionKind::kSpawn:
      if (w.state != Worker::State::kNoProcess)
        fail(now, "a replacement starts before the exit is confirmed (L6.2)");
      if (w.retiring) fail(now, "a replacement starts for a retired worker (L7.1)");
      if (a.generation != w.generation + 1) fail(now, "a generation is left out");
      w.generation = a.generation;
      w.state = Worker::State::kStarting;
      return;
    case ActionKind::kRetired:
      if (w.state != Worker::State::kNoProcess) fail(now, "retired before the exit is confirmed (L7.1)");
      w.state = Worker::State::kRetired;
      return;
    case ActionKind::kDropped:
      return on_drop(now, a, m);
    case ActionKind::kPrewarmEnd:
      return;
  }
}

}  // namespace anelane::sim
