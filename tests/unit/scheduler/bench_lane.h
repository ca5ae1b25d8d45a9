// A scheduler on a test bench: events go in by short calls, actions come out as short lines, time is set by
// hand. Milliseconds, because that is what the rules speak of.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace anelane::sched {

class BenchLane {
 public:
  explicit BenchLane(Options options = {}) : scheduler(options) {}

  static Options options_with(uint32_t budget) {
    Options o;
    o.executable_budget = budget;
    return o;
  }
  static Time ms(double t) { return static_cast<Time>(t * 1000); }

  // `seeds`: ms by rung, negative: unknown. Ready at once, with these rungs cached.
  WorkerId model(uint32_t layers, const std::vector<double>& seeds, uint32_t cached = 0, bool prewarm = false,
                 bool reports_cache = true) {
    WorkerSpec spec;
    spec.layers = layers;
    spec.prewarm = prewarm;
    spec.reports_cache = reports_cache;
    spec.seed_compile.fill(kUnknown);
    spec.seed_load.fill(kUnknown);
    for (size_t i = 0; i < seeds.size(); ++i) {
      spec.ladder.push_back(128u << i);
      if (seeds[i] >= 0) spec.seed_compile[i] = ms(seeds[i]);
    }
    const WorkerId w = scheduler.add_worker(spec);
    step({.kind = EventKind::kWorkerReady, .worker = w, .generation = 1, .mask = cached});
    return w;
  }

  BenchLane& at(double t) {
    const Time to = ms(t);
    while (scheduler.next_due() <= to) {
      now = std::max(now, scheduler.next_due());
      step({.kind = EventKind::kTimer});
    }
    now = to;
    return *this;
  }
  void request(TicketId id, WorkerId w, uint32_t rung, double deadline = -1, bool take_at_once = true) {
    step({.kind = EventKind::kRequest,
          .worker = w,
          .rung = rung,
          .ticket = id,
          .deadline = deadline < 0 ? kNever : ms(deadline),
          .take_at_once = take_at_once});
  }
  void cancel(TicketId id) { step({.kind = EventKind::kCancel, .ticket = id}); }
  void take(TicketId id) { step({.kind = EventKind::kTake, .ticket = id}); }
  void sent(WorkerId w, uint32_t rung, Generation g = 1) {
    step({.kind = EventKind::kAdmissionSent, .worker = w, .generation = g, .rung = rung});
  }
  void done(WorkerId w, uint32_t rung, Generation g = 1, bool loaded = false) {
    step({.kind = EventKind::kAdmissionDone,
          .worker = w,
          .generation = g,
          .rung = rung,
          .cache_hit = loaded ? 1u : 0u,
          .compiled = loaded ? 0u : 1u});
  }
  void failed(WorkerId w, uint32_t rung, Code code, bool permanent = false) {
    step({.kind = EventKind::kAdmissionDone,
          .worker = w,
          .generation = 1,
          .rung = rung,
          .code = code,
          .permanent = permanent});
  }
  void evict_sent(WorkerId w, uint32_t rung) {
    step({.kind = EventKind::kEvictionSent, .worker = w, .generation = 1, .rung = rung});
  }
  void evicted(WorkerId w, uint32_t rung, Code code = Code::kOk) {
    step({.kind = EventKind::kEvictionDone, .worker = w, .generation = 1, .rung = rung, .code = code});
  }
  // Resident, and leased by nobody, as fast as it goes.
  void make_resident(WorkerId w, uint32_t rung, TicketId id) {
    request(id, w, rung);
    at(static_cast<double>(now) / 1000 + 50);
    sent(w, rung);
    done(w, rung);
    release(w, rung);
    lines.clear();
  }
  void release(WorkerId w, uint32_t rung) {
    scheduler.publish(now);
    SlotGate& g = scheduler.gate(w, rung);
    if (g.release(g.epoch(), scheduler.coarse_now()))
      step({.kind = EventKind::kReleased, .worker = w, .rung = rung});
  }
  void fault(WorkerId w, Generation g = 1) {
    step({.kind = EventKind::kFault, .worker = w, .generation = g});
  }
  void exit(WorkerId w, Generation g = 1) {
    step({.kind = EventKind::kExitConfirmed, .worker = w, .generation = g});
  }
  void start_failed(WorkerId w, Generation g, Code code = Code::kOk) {
    step({.kind = EventKind::kStartFailed, .worker = w, .generation = g, .code = code});
  }
  void ready(WorkerId w, Generation g, uint32_t cached = 0) {
    step({.kind = EventKind::kWorkerReady, .worker = w, .generation = g, .mask = cached});
  }
  void retire(WorkerId w) { step({.kind = EventKind::kRetire, .worker = w}); }

  void step(const Event& e) {
    for (const Action& a : scheduler.step(now, e)) lines.push_back(text(a));
    EXPECT_EQ(scheduler.broken(), "");
  }
  // What was done since the last call.
  std::vector<std::string> drain() {
    std::vector<std::string> out;
    out.swap(lines);
    return out;
  }
  uint32_t charged() { return scheduler.snapshot(now).charged; }

  static std::string text(const Action& a) {
    const std::string shape = std::to_string(a.worker) + ":" + std::to_string(a.rung);
    const std::string ticket = std::to_string(a.ticket);
    switch (a.kind) {
      case ActionKind::kStartAdmission:
        return (a.is_load ? "load " : "compile ") + shape;
      case ActionKind::kWithdrawAdmission:
        return "withdraw " + shape;
      case ActionKind::kStartEviction:
        return "evict " + shape;
      case ActionKind::kWithdrawEviction:
        return "keep " + shape;
      case ActionKind::kGrant:
        return "grant " + ticket;
      case ActionKind::kOffer:
        return "offer " + ticket;
      case ActionKind::kAnswer:
        return "answer " + ticket + " " + code_info(a.code).name +
               (a.retry_after_ms > 0 ? " " + std::to_string(a.retry_after_ms) : "");
      case ActionKind::kRecover:
        return "recover " + std::to_string(a.worker);
      case ActionKind::kSpawn:
        return "spawn " + std::to_string(a.worker) + "." + std::to_string(a.generation);
      case ActionKind::kCloseWorker:
        return "close " + std::to_string(a.worker);
      case ActionKind::kRetired:
        return "retired " + std::to_string(a.worker);
      case ActionKind::kDropped:
        return "drop " + shape;
      case ActionKind::kPrewarmEnd:
        return "prewarm " + std::to_string(a.worker) + " loaded=" + std::to_string(a.loaded) +
               " resident=" + std::to_string(a.already_resident) +
               " skipped=" + std::to_string(a.skipped_for_budget) + (a.cancelled ? " cancelled" : "");
    }
    return "?";
  }

  Scheduler scheduler;
  Time now = 0;
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

}  // namespace anelane::sched
