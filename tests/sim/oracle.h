// An independent judge. It sees what goes into the scheduler and what comes out, keeps its own books from
// that alone, and knows the rules of the lane as statements about histories. It shares no code with the core.
//
// tracking: what each event and action means for the books (oracle.cc); rules: what must hold at an action
// (oracle_rules.cc), at an answer (oracle_answers.cc) and after a step (oracle_waits.cc). The first violation
// is kept as text.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "oracle_costs.h"
#include "world.h"

namespace anelane::sim {

class Oracle : public Watcher {
 public:
  Oracle(LaneView& world, const Workload& workload);
  void before(Time now, const sched::Event& event) override;
  void after(Time now, const sched::Event& event, std::span<const sched::Action> actions) override;
  const std::string& violation() const { return violation_; }
  // After healing and a long time: nobody may wait, nothing may be under way.
  void check_quiet(Time now);

  void released(Time now, uint32_t model, uint32_t rung, bool told) override;
  void fault_hit(uint32_t model, FaultKind kind) override;
  // How often each slot transition was seen, by the kinds of faults that had hit the worker before.
  using Coverage = std::map<std::pair<std::string, std::string>, uint64_t>;
  const Coverage& coverage() const { return coverage_; }
  // How often a start was compared with another entry that could have started too (L4.2).
  uint64_t passings_judged() const { return passings_judged_; }

 private:
  enum class Slot : uint8_t { kAbsent, kAdmitting, kResident, kEvicting, kFailed };
  struct Ticket {
    uint32_t model = 0, rung = 0;
    Time arrived = 0;  // anew when its shape was evicted
    uint64_t order = 0;
    Time bound = kNever;
    bool own_deadline = false;
    bool pin = true;
    bool packed = false;
    bool offered = false;
    bool lost = false;
    Time offered_at = 0;
    uint32_t offers = 0;
  };
  struct Rung {
    Slot slot = Slot::kAbsent;
    bool sent = false;           // the admission or eviction is on the wire
    std::set<uint64_t> waiting;  // tickets by order (tickets_by_order_)
    std::set<uint64_t> offered;  // ticket ids
    // The entry, while somebody queues for it.
    bool queued = false;
    Time entry_arrival = 0;
    Time key = 0;
    bool maybe_placed = false;     // it may stand behind another than its key says (L4.11)
    bool maybe_earmarked = false;  // an eviction was started since it queued
    // What the scheduler said of it before this step: excuses that must be plausible too.
    bool says_placed = false;
    bool says_earmarked = false;
    Time promised_until = kNever;                          // kNever: none
    std::optional<std::pair<uint32_t, uint32_t>> follows;  // must start after that one (L4.11)
    uint64_t follows_for = 0;                              // because of this ticket
    bool packed = false;                                   // never learned
  };
  struct Work {
    uint32_t rung = 0;
    bool load = false, prewarm = false, sent = false, lost = false, holds = false, repriced = false,
         refused = false, packed = false;
    Time predicted = kUnknown, sent_at = 0, lost_at = 0;
    // After a refusal: paused until it is tried again; undecided until the actions have told how it goes on.
    bool paused = false, undecided = false;
    std::optional<std::pair<uint32_t, uint32_t>> victim = {};
    uint32_t evictions = 0;
  };
  struct Worker {
    sched::Generation generation = 1;
    enum class State : uint8_t {
      kStarting,
      kReady,
      kBroken,
      kClosed,
      kNoProcess,
      kRetired
    } state = State::kStarting;
    bool retiring = false, ending = false, draining = false;
    Time broken_at = kNever;
    std::vector<Rung> rungs;
    std::optional<Work> work;
    uint32_t faults = 0;  // kinds that have hit this process, and the one before it
  };

  // ---- tracking ----
  void take_event(Time now, const sched::Event& e);
  void take_action(Time now, const sched::Event& e, const sched::Action& a);
  void take_admission_done(Time now, const sched::Event& e, uint32_t model);
  void take_fault(Time now, uint32_t model);
  void take_exit(Time now, uint32_t model);
  void take_refusals(Time now, std::span<const sched::Action> actions);
  void gone(Time now, uint32_t model, uint32_t rung);
  void move(uint32_t model, uint32_t rung, Slot to);
  void forget_ticket(sched::TicketId id);
  void join(Time now, sched::TicketId id, Ticket& t);
  void open_entry(Time now, uint32_t model, uint32_t rung);
  Time& failed_until(uint32_t model, uint32_t rung);
  void pass_time(Time now, const sched::Event& e);
  // ---- rules ----
  void on_start(Time now, const sched::Action& a, uint32_t model);
  void on_evict(Time now, const sched::Action& a, uint32_t model);
  void on_grant(Time now, const sched::Event& e, const sched::Action& a);
  void on_answer(Time now, const sched::Event& e, const sched::Action& a);
  void on_drop(Time now, const sched::Action& a, uint32_t model);
  void check_books(Time now);
  void check_idle_gates(Time now);
  void check_idle_room(Time now);
  void check_waits(Time now, const sched::Event& e);
  void check_memory(Time now, const sched::Event& e);
  void check_passing(Time now, uint32_t model, uint32_t rung);
  void hear_excuses(Time now);
  bool fits_beside_earmarks(uint32_t model, uint32_t rung) const;
  void check_single_arrival(Time now, const sched::Event& e, std::span<const sched::Action> actions);
  void check_snapshot(Time now);
  bool gate_taken(bool load, Time now) const;
  bool as_load(uint32_t model, uint32_t rung) const;
  bool fits(uint32_t model) const;
  bool hopeless(uint32_t model);
  bool evictions_under_way() const;
  bool protects(const Rung& r) const { return !r.offered.empty(); }
  struct Starved {
    uint64_t order = 0;  // who came later may not lease
    Time key = 0;        // the head's is not above this
    bool placed = false;
  };
  std::optional<Starved> starved_at(bool load, Time now);
  void check_starved_rival(Time now, uint32_t model, uint32_t rung);
  void check_costs_no_bound(Time now, uint32_t model, uint32_t rung);
  void note_followers(Time now, uint32_t model, uint32_t rung);
  std::string shape(uint32_t model, uint32_t rung) const;
  void fail(Time now, const std::string& what);
  uint32_t layers(uint32_t model) const { return workload_.models[model].layers; }

  LaneView& world_;
  const Workload& workload_;
  const sched::Options& options_;
  std::vector<Worker> workers_;
  std::map<sched::WorkerId, uint32_t> model_of_;
  std::map<sched::TicketId, Ticket> tickets_;
  std::map<uint64_t, sched::TicketId> by_order_;
  std::multiset<Time> bounds_;
  std::map<std::pair<std::string, uint32_t>, Time> failed_until_;  // by program and shape (L4.16)
  uint64_t orders_ = 0;
  int64_t charged_ = 0, slots_ = 0;
  Time shut_until_ = 0;  // the daemon compiles on (L4.13)
  OracleCosts costs_;
  std::array<std::optional<Starved>, 2> starved_before_;  // by gate
  uint64_t steps_ = 0;
  bool replaced_ = false;         // in this step entries may have got new places, or room a new owner
  const Rung* opened_ = nullptr;  // the entry that this event's request opened
  bool stopped_ = false;
  std::string violation_;
  Coverage coverage_;
  uint64_t passings_judged_ = 0;
};

}  // namespace anelane::sim
