// Callers: requests, leases, exchanges under a lease, cancelling.
#include <algorithm>
#include <utility>

#include "world.h"

namespace anelane::sim {

using sched::EventKind;

void World::request(const Happening& h) {
  const Process& p = processes_[h.model];
  const Time bound = std::min(h.deadline, now_ + workload_.options.admission_bound);
  if (keep_records_) fates_[h.id] = Fate{.model = h.model, .rung = h.rung, .asked = now_, .bound = bound};
  Request r{h.model, h.rung, h.hold, h.take, ++last_ticket_, !h.no_pin};
  waiting_[h.id] = r;
  asked_by_.push_back(h.id);
  ++unanswered_;
  print({.t = now_, .ev = Ev::kAsk, .model = h.model, .shape = shape_of(h.model, h.rung), .id = h.id});
  if (h.fast_path && r.pin && !p.retired) {
    sched::SlotGate& gate = scheduler_.gate(p.worker, h.rung);
    scheduler_.publish(now_);
    if (const auto epoch = gate.try_lease(scheduler_.coarse_now()); epoch != 0) {
      // answered() takes its own pin for a grant by the scheduler; this one is the caller's already.
      return answered(r.ticket, Code::kOk, 0, true);
    }
  }
  feed({.kind = EventKind::kRequest,
        .worker = p.worker,
        .rung = h.rung,
        .ticket = r.ticket,
        .deadline = h.deadline,
        .pin = r.pin,
        .take_at_once = h.take == 0,
        .packed = h.packed});
}

void World::answered(sched::TicketId ticket, Code code, uint64_t retry_after_ms, bool granted_lease) {
  const uint64_t id = std::exchange(asked_by_.at(ticket - 1), kNobody);
  if (id == kNobody) return;
  if (keep_records_) {
    Fate& fate = fates_[id];
    fate.answered = now_;
    fate.granted = granted_lease;
    fate.code = code;
    fate.retry_after_ms = retry_after_ms;
  }
  --unanswered_;
  if (granted_lease) return granted(id, waiting_.at(id).model);
  print({.t = now_, .ev = Ev::kAnswer, .id = id, .code = code, .retry_after_ms = retry_after_ms});
  waiting_.erase(id);
}

// The lease is pinned. With a hold it is an exchange that waits for its turn on the stream.
void World::granted(uint64_t id, uint32_t model) {
  const Request r = waiting_.at(id);
  waiting_.erase(id);
  Process& p = processes_[model];
  print({.t = now_, .ev = Ev::kGrant, .id = id});
  leases_[id] = {model, r.rung, scheduler_.gate(p.worker, r.rung).epoch(), r.hold != kUnknown};
  if (r.hold != kUnknown) {
    p.stream.push_back({.kind = Kind::kInference, .rung = r.rung, .request = id, .duration = r.hold});
    if (!feeding_) pump(model);
  } else {
    schedule(now_ + workload_.options.lease_max, Due::kRelease, model, id);
  }
}

void World::drop_lease(uint64_t id, bool say, bool tell) {
  const auto it = leases_.find(id);
  if (it == leases_.end()) return;
  const Lease lease = it->second;
  leases_.erase(it);
  if (say) print({.t = now_, .ev = Ev::kRelease, .id = id});
  const sched::WorkerId worker = processes_[lease.model].worker;
  scheduler_.publish(now_);
  const bool wake = scheduler_.gate(worker, lease.rung).release(lease.epoch, scheduler_.coarse_now());
  if (watcher_ != nullptr && tell) watcher_->released(now_, lease.model, lease.rung, wake);
  if (wake && tell) feed({.kind = EventKind::kReleased, .worker = worker, .rung = lease.rung});
}

void World::cancel(uint64_t id) {
  print({.t = now_, .ev = Ev::kCancel, .id = id});
  if (const auto it = waiting_.find(id); it != waiting_.end())
    return feed({.kind = EventKind::kCancel, .ticket = it->second.ticket});
  if (const auto it = leases_.find(id); it != leases_.end() && !it->second.exchange)
    drop_lease(id, true, true);
}

bool World::leased_on(uint32_t model) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& l) { return l.second.model == model; });
}

}  // namespace anelane::sim
