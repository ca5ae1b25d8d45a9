// Worker processes: the serial stream, admissions and evictions as exchanges, faults, exits, restarts.
#include <algorithm>
#include <cmath>

#include "draws.h"
#include "world.h"

namespace anelane::sim {

using sched::ActionKind;
using sched::EventKind;

void World::carry_out(const sched::Action& a) {
  const uint32_t m = a.kind == ActionKind::kAnswer && !models_of_.contains(a.worker) ? 0 : model_of(a.worker);
  Process& p = processes_[m];
  const auto waits = [&](Kind kind) {
    // Not the exchange that runs.
    return std::find_if(p.stream.begin() + (p.running ? 1 : 0), p.stream.end(),
                        [&](const Exchange& x) { return x.kind == kind && x.rung == a.rung; });
  };
  switch (a.kind) {
    case ActionKind::kStartAdmission:
      p.stream.push_back({.kind = Kind::kAdmission, .rung = a.rung});
      return;
    case ActionKind::kStartEviction:
      p.stream.push_back({.kind = Kind::kEviction, .rung = a.rung});
      return;
    case ActionKind::kWithdrawAdmission:
      if (const auto it = waits(Kind::kAdmission); it != p.stream.end()) p.stream.erase(it);
      return;
    case ActionKind::kWithdrawEviction:
      if (const auto it = waits(Kind::kEviction); it != p.stream.end()) p.stream.erase(it);
      return;
    case ActionKind::kGrant:
      return answered(a.ticket, Code::kOk, 0, true);
    case ActionKind::kOffer: {
      const auto it = waiting_.find(asked_by_.at(a.ticket - 1));
      if (it == waiting_.end()) return;  // it was answered already: the watcher says so
      return schedule(now_ + it->second.take, Due::kTake, m, it->first);
    }
    case ActionKind::kAnswer:
      return answered(a.ticket, a.code, a.retry_after_ms, false);
    case ActionKind::kRecover:
    case ActionKind::kCloseWorker:
      if (p.exiting) return;  // it crashed: its exit comes when the workload says
      p.exiting = true;
      p.up = p.alive;
      p.alive = false;
      return schedule(now_, Due::kExit, m, p.generation);
    case ActionKind::kSpawn:
      p.generation = a.generation;
      return schedule(now_ + p.restart, Due::kReady, m, p.generation);
    case ActionKind::kRetired:
      p.retired = true;
      return print({.t = now_, .ev = Ev::kRetired, .model = m});
    case ActionKind::kDropped:
      return print({.t = now_, .ev = Ev::kDrop, .model = m, .shape = shape_of(m, a.rung)});
    case ActionKind::kPrewarmEnd: {
      LogLine line{.t = now_, .ev = Ev::kPrewarmEnd, .model = m};
      for (uint32_t i = 0; i < workload_.models[m].rungs.size(); ++i) {
        if ((a.loaded >> i & 1u) != 0) line.loaded.push_back(shape_of(m, i));
        if ((a.already_resident >> i & 1u) != 0) line.already_resident.push_back(shape_of(m, i));
        if ((a.skipped_for_budget >> i & 1u) != 0) line.skipped.push_back(shape_of(m, i));
      }
      return print(std::move(line));
    }
  }
}

void World::pump(uint32_t model) {
  Process& p = processes_[model];
  if (p.running || p.stream.empty() || !p.alive) return;
  Exchange& x = p.stream.front();
  p.running = true;
  p.run_id = ++runs_;
  const uint32_t shape = shape_of(model, x.rung);
  if (x.kind == Kind::kAdmission) {
    start_admission_exchange(model, x);
    print({.t = now_, .ev = Ev::kAdmitStart, .model = model, .shape = shape});
    feed({.kind = EventKind::kAdmissionSent, .worker = p.worker, .generation = p.generation, .rung = x.rung});
  } else if (x.kind == Kind::kEviction) {
    x.duration = workload_.models[model].evict;
    if (habits_.failed_eviction > 0 && chance() < habits_.failed_eviction) x.code = Code::kInternal;
    print({.t = now_, .ev = Ev::kEvictStart, .model = model, .shape = shape});
    feed({.kind = EventKind::kEvictionSent, .worker = p.worker, .generation = p.generation, .rung = x.rung});
  }
  schedule(now_ + x.duration, Due::kExchangeEnd, model, p.run_id);
}

void World::start_admission_exchange(uint32_t model, Exchange& x) {
  Process& p = processes_[model];
  const RungCosts& costs = workload_.models[model].rungs[x.rung];
  x.loads = (p.daemon_cache >> x.rung & 1u) != 0;
  x.duration = x.loads ? costs.true_load : costs.truth;
  if (p.factor != 1) x.duration = std::llround(static_cast<double>(x.duration) * p.factor);
  if (habits_.cost_sigma > 0) {
    const double u = chance(), v = chance();
    const double factor = std::exp(habits_.cost_sigma * standard_normal(u, v));
    x.duration = std::max<Time>(1, std::llround(static_cast<double>(x.duration) * factor));
  }
  if (p.armed.empty()) return;
  const Armed armed = p.armed.front();
  p.armed.pop_front();
  if (armed.kind == FaultKind::kRefuse) {
    x.duration /= 4;
    x.code = Code::kResourcesExhausted;
  } else {
    x.duration /= 2;
    x.code = Code::kCompileFailed;
    x.permanent = armed.deterministic;
  }
}

void World::exchange_ended(uint32_t model) {
  Process& p = processes_[model];
  const Exchange x = p.stream.front();
  p.stream.pop_front();
  p.running = false;
  switch (x.kind) {
    case Kind::kInference:
      drop_lease(x.request, true, true);
      break;
    case Kind::kAdmission:
      end_admission(model, x);
      break;
    case Kind::kEviction: {
      print({.t = now_, .ev = Ev::kEvictEnd, .model = model, .shape = shape_of(model, x.rung)});
      const sched::Event done{.kind = EventKind::kEvictionDone,
                              .worker = p.worker,
                              .generation = p.generation,
                              .rung = x.rung,
                              .code = x.code};
      feed(done);
      if (habits_.duplicate_reply > 0 && chance() < habits_.duplicate_reply && !runs(p, x)) feed(done);
      break;
    }
  }
  if (p.stream.empty()) feed({.kind = EventKind::kStreamIdle, .worker = p.worker});
  pump(model);
}

// The same thing again: its answer carries another request id, so that a late copy of the old one is known as
// such.
bool World::runs(const Process& p, const Exchange& x) {
  return p.running && p.stream.front().kind == x.kind && p.stream.front().rung == x.rung;
}

void World::end_admission(uint32_t model, const Exchange& x) {
  Process& p = processes_[model];
  const Model& m = workload_.models[model];
  Outcome outcome = x.loads && m.reports_cache ? Outcome::kLoaded : Outcome::kCompiled;
  if (x.code == Code::kResourcesExhausted) outcome = Outcome::kRefused;
  if (x.code == Code::kCompileFailed) outcome = Outcome::kError;
  if (x.code == Code::kOk) p.daemon_cache |= 1u << x.rung;
  print(
      {.t = now_, .ev = Ev::kAdmitEnd, .model = model, .shape = shape_of(model, x.rung), .outcome = outcome});
  sched::Event done{.kind = EventKind::kAdmissionDone,
                    .worker = p.worker,
                    .generation = p.generation,
                    .rung = x.rung,
                    .code = x.code,
                    .permanent = x.permanent};
  if (m.reports_cache && x.code == Code::kOk) (x.loads ? done.cache_hit : done.compiled) = m.layers;
  feed(done);
  if (habits_.duplicate_reply > 0 && chance() < habits_.duplicate_reply && !runs(p, x)) feed(done);
}

void World::fault(const Happening& h) {
  Process& p = processes_[h.model];
  if (!p.alive) return;
  print({.t = now_, .ev = Ev::kFault, .model = h.model});
  if (watcher_ != nullptr && h.fault != FaultKind::kCrash) watcher_->fault_hit(h.model, h.fault);
  switch (h.fault) {
    case FaultKind::kCrash:
      return crash(h);
    case FaultKind::kError:
    case FaultKind::kRefuse:
      p.armed.push_back({h.fault, h.deterministic});
      return;
    case FaultKind::kSlow:
      p.factor = h.factor;
      return;
  }
}

void World::crash(const Happening& h) {
  Process& p = processes_[h.model];
  p.alive = false;
  p.exiting = p.up = true;
  p.restart = h.restart;
  p.armed.clear();
  p.factor = 1;
  if (p.running && p.stream.front().kind == Kind::kAdmission)
    print({.t = now_,
           .ev = Ev::kAdmitEnd,
           .model = h.model,
           .shape = shape_of(h.model, p.stream.front().rung),
           .outcome = Outcome::kLost});
  // What it breaks releases its lease; the scheduler hears of the fault first.
  for (const Exchange& x : p.stream)
    if (x.kind == Kind::kInference) drop_lease(x.request, true, false);
  p.stream.clear();
  p.running = false;
  if (h.exit_after != kNever) schedule(now_ + h.exit_after, Due::kExit, h.model, p.generation);
  feed({.kind = EventKind::kFault, .worker = p.worker, .generation = p.generation});
  if (watcher_ != nullptr) watcher_->fault_hit(h.model, FaultKind::kCrash);
}

void World::exit_process(uint32_t model) {
  Process& p = processes_[model];
  // One that was never ready is no process as far as a workload can tell: nothing of it exits.
  if (p.up) print({.t = now_, .ev = Ev::kExit, .model = model});
  p.exiting = p.alive = p.running = p.up = false;
  p.stream.clear();
  p.armed.clear();
  p.factor = 1;
  std::erase_if(leases_, [&](const auto& l) { return l.second.model == model; });
  const sched::Generation old = p.generation;
  feed({.kind = EventKind::kExitConfirmed, .worker = p.worker, .generation = old});
  if (habits_.stale_reply == 0 || chance() >= habits_.stale_reply) return;
  const auto rung =
      static_cast<uint32_t>(chance() * static_cast<double>(workload_.models[model].rungs.size()));
  for (const EventKind kind : {EventKind::kAdmissionDone, EventKind::kEvictionDone, EventKind::kFault,
                               EventKind::kAdmissionSent, EventKind::kExitConfirmed, EventKind::kWorkerReady})
    feed({.kind = kind, .worker = p.worker, .generation = old, .rung = rung});
}

void World::heal() {
  for (uint32_t m = 0; m < processes_.size(); ++m) {
    Process& p = processes_[m];
    p.armed.clear();
    p.factor = 1;
    if (p.exiting) schedule(now_, Due::kExit, m, p.generation);
  }
  habits_ = {};
  std::vector<std::pair<uint64_t, uint32_t>> held;
  for (const auto& [id, lease] : leases_)
    if (!lease.exchange) held.emplace_back(id, lease.model);
  std::sort(held.begin(), held.end());
  for (const auto& [id, model] : held) schedule(now_, Due::kRelease, model, id);
}

}  // namespace anelane::sim
