// What must hold when somebody is answered, when an entry is given up, and in the end.
#include "oracle.h"

namespace anelane::sim {

using sched::EventKind;

namespace {
constexpr Time kPromiseLeast = 2'000'000;
}

void Oracle::check_quiet(Time now) {
  if (!tickets_.empty())
    fail(now,
         "liveness: request of ticket " + std::to_string(tickets_.begin()->first) + " is never answered");
  for (uint32_t m = 0; m < workers_.size(); ++m) {
    if (workers_[m].work) fail(now, "liveness: an admission of " + workload_.models[m].name + " never ends");
    for (uint32_t r = 0; r < workers_[m].rungs.size(); ++r) {
      if (workers_[m].rungs[r].queued) fail(now, "liveness: " + shape(m, r) + " stays queued for ever");
      if (workers_[m].rungs[r].slot == Slot::kEvicting) fail(now, "liveness: an eviction never ends");
    }
    if (workers_[m].retiring && workers_[m].state != Worker::State::kRetired)
      fail(now, "liveness: " + workload_.models[m].name + " never retires");
  }
}

// L4.16: whoever asks for what failed for good a moment ago is told so, and queues for nothing.
void Oracle::check_memory(Time now, const sched::Event& e) {
  if (e.kind != EventKind::kRequest || opened_ == nullptr || !tickets_.contains(e.ticket)) return;
  const Ticket& t = tickets_.at(e.ticket);
  if (now < failed_until(t.model, t.rung))
    fail(now, shape(t.model, t.rung) + " is queued though its program failed within 15 s (L4.16)");
}

void Oracle::on_drop(Time now, const sched::Action& a, uint32_t m) {
  Rung& r = workers_[m].rungs[a.rung];
  if (!r.queued) return fail(now, shape(m, a.rung) + " is dropped but was not queued");
  if (!r.waiting.empty()) fail(now, shape(m, a.rung) + " is dropped while a ticket waits (L4.10)");
  if (r.promised_until != kNever && now < r.promised_until && !workers_[m].retiring)
    fail(now, shape(m, a.rung) + " is dropped before its promise ends (L4.10)");
  r.queued = false;
  r.promised_until = kNever;
}

void Oracle::on_answer(Time now, const sched::Event& e, const sched::Action& a) {
  const auto it = tickets_.find(a.ticket);
  if (it == tickets_.end())
    return fail(now, "ticket " + std::to_string(a.ticket) + " is answered twice or was never asked");
  const Ticket t = it->second;
  Worker& w = workers_[t.model];
  Rung& r = w.rungs[t.rung];
  const std::string who = "ticket " + std::to_string(a.ticket) + " for " + shape(t.model, t.rung);
  const bool at_bound = now >= t.bound;
  switch (a.code) {
    case Code::kOk:
      if (t.pin || r.slot != Slot::kResident) fail(now, who + ": OK without a lease");
      break;
    case Code::kShapeCompiling:
      if (a.retry_after_ms < 1) fail(now, who + ": no retry_after_ms");
      if (!at_bound && static_cast<Time>(a.retry_after_ms) * 1000 <= t.bound - now)
        fail(now, who + ": told to wait though it would be ready by its bound (L4.9)");
      if (t.offered || t.lost) fail(now, who + ": SHAPE_COMPILING for an offered shape (L4.12)");
      if (r.queued || r.slot == Slot::kAdmitting)
        r.promised_until = now + std::max(2 * static_cast<Time>(a.retry_after_ms) * 1000, kPromiseLeast);
      break;
    case Code::kResourcesExhausted: {
      const bool refused = e.kind == EventKind::kAdmissionDone || e.kind == EventKind::kEvictionDone ||
                           e.kind == EventKind::kFault || e.kind == EventKind::kExitConfirmed;
      const bool never = layers(t.model) > options_.executable_budget;
      const bool full = e.kind == EventKind::kRequest && tickets_.size() > options_.max_waiting;
      if (never ? a.retry_after_ms != 0 : a.retry_after_ms != 250)
        fail(now, who + ": wrong retry for no room");
      if (!never && !full && !refused && !at_bound) fail(now, who + ": RESOURCES_EXHAUSTED before its bound");
      if (at_bound && !refused && t.own_deadline && !full && !never)
        fail(now, who + ": its own deadline was the bound (L4.12)");
      break;
    }
    case Code::kDeadlineExceeded:
      if (!at_bound) fail(now, who + ": DEADLINE_EXCEEDED before its bound");
      break;
    case Code::kEngineCrashed: {
      const bool out = w.state != Worker::State::kReady;
      if (!out) fail(now, who + ": ENGINE_CRASHED by a healthy worker");
      if (a.retry_after_ms == 0) fail(now, who + ": ENGINE_CRASHED without retry_after_ms");
      break;
    }
    case Code::kRetired:
      if (!w.retiring) fail(now, who + ": RETIRED but its model is not");
      break;
    case Code::kCancelled:
      if (e.kind != EventKind::kCancel || e.ticket != a.ticket) fail(now, who + ": CANCELLED but nobody did");
      break;
    case Code::kCompileFailed: {
      const bool now_failed =
          e.kind == EventKind::kAdmissionDone && e.code == Code::kCompileFailed && e.rung == t.rung;
      if (!now_failed && now >= failed_until(t.model, t.rung))
        fail(now, who + ": an error from memory after 15 s (L4.16)");
      break;
    }
    default:
      fail(now, who + ": answered " + code_info(a.code).name);
  }
  // Refused at once: it never had an entry.
  if (opened_ == &r && e.ticket == a.ticket && a.code != Code::kShapeCompiling) r.queued = false;
  forget_ticket(a.ticket);
}

}  // namespace anelane::sim
