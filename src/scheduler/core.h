// The state of the scheduler and its rules, one group of functions for each file. Only the files of this
// folder include it.
//
// Invariants after each step: the ledger is within its limits; at most one admission for each gate, apart
// from repriced loads (L4.6); no leased or protected slot is being evicted; a waiting ticket is in exactly
// one list; nothing that could go now is left waiting.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/failure_memory.h"
#include "scheduler/ledger.h"
#include "scheduler/scheduler.h"
#include "scheduler/ticket.h"
#include "scheduler/timer_heap.h"
#include "scheduler/worker.h"

// A deliberate fault, in the build that tests the simulator; nothing in any other build.
#ifdef ANELANE_PLANTED_BUGS
#define ANELANE_BUG(n) (options_.planted_bug == (n))
#else
#define ANELANE_BUG(n) false
#endif

namespace anelane::sched {

// A predicted delay. Vague: an unknown cost or an overdue holder is part of it (L4.9).
struct Delay {
  Time us = 0;
  bool vague = false;
};

struct Gate {
  std::vector<Worker*> holders;  // more than one only with repriced loads
  Time free_since = 0;
  Time shut_until = 0;  // the daemon compiles on (L4.13)
};

// Who stands first at a gate (L4.8), and who was passed over on the way (L3.5).
struct Standing {
  Shape* head = nullptr;
  bool starved = false;
  std::vector<Shape*> passed;
};

// Which slots may be victims (L3.7).
struct VictimRules {
  bool compile_gate = false;
  bool undemanded_only = false;  // for an entry that no ticket waits for (L4.8)
  const Worker* of = nullptr;    // only this model's own
};

struct Scheduler::Core {
  explicit Core(const Options& options);

  // ---- scheduler.cc: events ----
  std::span<const Action> step(Time now, const Event& event);
  void dispatch(const Event& event);
  void fire_timers();
  void fire(TimerClass cls, void* subject);
  void stop(Code code);
  bool check(bool holds, const char* what);
  bool nothing_pending() const;

  // ---- arrivals.cc: requests, waiting, answers ----
  void request(const Event& event);
  struct Refusal {
    Code code = Code::kOk;
    uint64_t retry_after_ms = 0;
  };
  Refusal refusal(const Worker& w, uint32_t rung) const;
  bool grant_at_once(Shape& s, TicketId id, bool pin);
  void wait_for(Ticket* t);
  void take(Ticket* t);
  void cancel(TicketId id);
  bool leaves_unnoticed(const Ticket& t) const;
  void leave(Ticket* t);
  void answer(Ticket* t, Code code, uint64_t retry_after_ms);
  void answer_all(Shape& s, Code code, uint64_t retry_after_ms);
  void answer_everyone(Shape& s, Code code, uint64_t retry_after_ms);
  void grant(Ticket* t);
  void bound_reached(Ticket* t);
  bool waits_for_room(const Shape& s);

  // ---- queue.cc: entries and their order ----
  GateKind gate_of(const Shape& s) const {
    return options_.parallel_load && s.worker->costs.predicts_load(s.rung) ? GateKind::kLoad
                                                                           : GateKind::kCompile;
  }
  Time cost_of(const Shape& s) const { return s.worker->costs.cost(s.rung, factor_); }
  // L4.3. An unknown cost does not settle.
  Time settled_at(const Shape& s) const {
    if (ANELANE_BUG(13)) return s.own.arrival;
    return cost_of(s) == kUnknown ? s.own.arrival : s.own.arrival + options_.settle;
  }
  void enqueue(Shape& s, const Ticket& first);
  void requeue(Shape& s);
  void insert(Shape& s);
  void remove_from_queue(Shape& s);
  void return_entries(Worker& w);
  void queue_anew(Shape& s);
  void unwaited(Shape& s);
  void drop(Shape& s);
  void promise(Shape& s, uint64_t retry_after_ms);
  void forget_promise(Shape& s);

  // ---- forecast.cc: predictions ----
  Delay remaining(const Admission& admission) const;
  Delay holder_remaining(GateKind gate) const;
  Delay forecast(const Shape& s);
  Delay forecast_as(const Shape& s, const QueueKey& place, bool is_head, Time arrival);
  bool judge(Shape& s);
  void judge_one(Ticket* t);
  void judge_everybody();
  bool costs_a_bound(const Shape& victim, Time without, Time with) const;
  bool may_start_past(const Shape& s);
  uint64_t retry_ms(const Delay& delay) const;

  // ---- election.cc: heads and decisions ----
  void decide();
  bool decide_once();
  Standing stand(GateKind gate);
  bool electable(const Shape& s, GateKind kind) const {
    const Worker& w = *s.worker;
    return w.serves() && !(w.admission.active() && w.admission.gate != kind);
  }
  bool passed_over(const Shape& s);
  bool act(Shape& s, GateKind gate, const Standing& other, const Shape* lower);
  bool takes_room_of(const Shape& s, const Shape& lower) const;
  bool take_victims(Shape& s);
  bool early_evict_due() const;
  void apply_holds(const std::array<Standing, 2>& standing);
  bool grant_unheld();
  void arm_decide_timer();
  bool gate_free(GateKind kind) const { return gate(kind).holders.empty() && now_ >= gate(kind).shut_until; }

  // ---- victims.cc ----
  std::vector<Shape*> candidates(const VictimRules& rules);
  bool may_be_victim(Shape& v, const VictimRules& rules);
  std::vector<Shape*> choose_victims(const Shape& s);
  VictimRules rules_for(const Shape& s) const;
  bool evict(Shape& v);
  void withdraw_eviction(Shape& v);
  void eviction_done(Worker& w, Shape& v, Code code);
  void set_earmark(Shape& s);
  void end_earmark(Shape& s);
  void end_eviction(Shape& v);

  // ---- admission.cc ----
  void start(Shape& s, bool prewarm);
  void sent(Worker& w);
  void admission_done(Worker& w, const Event& event);
  void admitted(Worker& w, const Event& event);
  void admission_failed(Worker& w, const Event& event);
  void admission_refused(Worker& w);
  void next_refusal_victim(Worker& w);
  void give_up_refused(Worker& w);
  void reclaim_then_retry(Worker& w);
  void send_again(Worker& w);
  void reprice(Worker& w);
  void withdraw_admission(Worker& w);
  void end_admission(Worker& w);
  void free_gate(Worker& w);
  void offer(Ticket* t);
  void offer_over(Ticket* t);

  // ---- recovery.cc ----
  void worker_ready(Worker& w, const Event& event);
  void fault(Worker& w);
  void lose_admission(Worker& w);
  void lose_slots(Worker& w);
  void begin_planned_restart(Worker& w);
  bool end_when_drained(Worker& w);
  void say_end(Worker& w);
  bool drained(Worker& w);
  bool end_drained_workers();
  void exit_confirmed(Worker& w);
  void exit_overdue(Worker& w);
  void end_lost_admission(Worker& w);
  void start_failed(Worker& w, bool shortage);
  void schedule_start(Worker& w);
  void spawn(Worker& w);
  void count_crash(Worker& w);
  uint64_t probe_ms(const Worker& w) const;

  // ---- retirement.cc ----
  void retire(Worker& w);
  void retired(Worker& w);

  // ---- prewarm.cc ----
  void prewarm_ready(Worker& w);
  void prewarm_step();
  bool prewarm_quiet(Worker& w);
  bool prewarm_advance(Worker& w);
  void end_prewarm(Worker& w, bool cancelled);

  // ---- words.cc: what others write ----
  bool unleased(Shape& s);
  Time last_use(const Shape& s);
  bool close_if_unleased(Shape& s);
  void hold(Shape& s, bool held);
  void forget_wakes();
  bool busy(const Worker& w) const;
  void set_state(Shape& s, SlotState to);
  void hinted(const Worker& w);

  // ---- small things ----
  Worker* find(WorkerId id) const { return id < workers_.size() ? workers_[id].get() : nullptr; }
  Action& act_on(ActionKind kind, const Shape& s);
  Action& act_on(ActionKind kind, const Worker& w);
  Gate& gate(GateKind kind) { return gates_[static_cast<size_t>(kind)]; }
  const Gate& gate(GateKind kind) const { return gates_[static_cast<size_t>(kind)]; }

  const Options options_;
  Time now_ = 0;
  std::atomic<Time> coarse_now_{0};
  std::vector<std::unique_ptr<Worker>> workers_;  // by id; index 0 is never used
  std::vector<Shape*> queue_;                     // entries in the order of `place`
  std::vector<Shape*> charged_;                   // slots that are not absent, by (worker, rung)
  std::vector<Worker*> prewarms_;                 // in the order of becoming ready
  std::array<Gate, 2> gates_;
  Ledger ledger_;
  MachineFactor factor_;
  FailureMemory failures_;
  TicketTable tickets_;
  TimerHeap timers_;
  TimerHeap::Handle decide_timer_ = TimerHeap::kNone;
  Time decide_due_ = kNever;
  uint64_t arrivals_ = 0;
  uint32_t draining_ = 0;  // workers whose process is to end, or is ending
  uint64_t round_ = 0;     // of decisions
  uint64_t placements_ = 0;
  uint64_t hold_after_ = ~0ull;  // order of the first ticket of a starved head
  bool quiet_event_ = false;     // this event cannot have changed what the last decision found
  bool hints_changed_ = false;   // by the driver, since the last decision
  bool head_blocked_ = false;    // by a waiting ticket's bound (L3.5): its leaving matters
  bool stopped_ = false;
  Code stop_code_ = Code::kOk;
  std::string broken_;
  Observer* observer_ = nullptr;
  std::vector<Action> actions_;
  struct {
    uint64_t admitted = 0, loaded = 0, compiled = 0, evicted = 0, refused = 0, restarts = 0, answered = 0,
             cancelled = 0;
  } counts_;
};

}  // namespace anelane::sched
