// The virtual world: a clock, worker processes with serial streams, a daemon with a cache, callers. It drives
// the production scheduler with what happens in them and carries out its actions, exactly as a workload says.
//
// Things due at one instant happen in the order: ends of exchanges, exits and restarts, releases (and takes),
// the scheduler's timers, happenings from outside. Decisions are carried out after each; what was decided is
// put on the streams only when all actions of a step are known. One thread, no clock, no randomness of its
// own.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>

#include "event_log.h"
#include "lane_view.h"

namespace anelane::sim {

// Looks at every step of the scheduler.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void before(Time /*now*/, const sched::Event& /*event*/) {}
  virtual void after(Time now, const sched::Event& event, std::span<const sched::Action> actions) = 0;
  // A lease ended; `told`: the scheduler had asked for it and hears of it.
  virtual void released(Time /*now*/, uint32_t /*model*/, uint32_t /*rung*/, bool /*told*/) {}
  virtual void fault_hit(uint32_t /*model*/, FaultKind /*kind*/) {}
};

// Habits of workers that the workload format does not have (random worlds).
struct Habits {
  uint64_t seed = 0;           // 0: none
  double duplicate_reply = 0;  // chance that an answer comes twice
  double stale_reply = 0;      // chance that an answer of the last generation comes after a restart
  double failed_eviction = 0;  // chance that an eviction is answered with an error
  double cost_sigma = 0;       // each admission takes its true cost times a log-normal number, drawn anew
};

class World : public LaneView {
 public:
  explicit World(const Workload& workload, Habits habits = {});
  ~World() override;
  void watch(Watcher* watcher) { watcher_ = watcher; }
  // Off: nothing is remembered of what happened; for speed.
  void keep_records(bool keep) { keep_records_ = keep; }

  // Everything up to `until` of the workload, or until nothing is left to happen.
  void run();
  // Up to this time.
  void run_to(Time until);
  // More from outside, now or later, in order.
  void add(const Happening& happening);
  // Heal: armed faults are forgotten, unconfirmed exits are confirmed, held leases are released.
  void heal();
  void report_open();

  Time now() const { return now_; }
  uint64_t steps() const { return steps_; }
  const std::vector<LogLine>& log() const { return log_; }
  std::vector<LogLine> take_log() { return std::move(log_); }
  sched::Scheduler& scheduler() override { return scheduler_; }
  sched::WorkerId worker_of(uint32_t model) const override { return processes_[model].worker; }
  size_t unanswered() const { return unanswered_; }
  size_t leases_held() const { return leases_.size(); }
  // Tells the callers' view of a request: was it answered, when.
  struct Fate {
    uint32_t model = 0, rung = 0;
    Time asked = 0, bound = kNever;
    Time answered = kUnknown;
    bool granted = false;
    Code code = Code::kOk;
    uint64_t retry_after_ms = 0;
  };
  const std::unordered_map<uint64_t, Fate>& fates() const { return fates_; }
  void forget_fates() { fates_.clear(); }
  bool leased_on(uint32_t model) const;

 private:
  enum class Kind : uint8_t { kAdmission, kEviction, kInference };
  struct Exchange {
    Kind kind = Kind::kInference;
    uint32_t rung = 0;
    uint64_t request = 0;  // kInference
    Time duration = 0;
    Code code = Code::kOk;
    bool permanent = false;
    bool loads = false;
  };
  struct Armed {
    FaultKind kind;
    bool deterministic;
  };
  struct Process {
    sched::WorkerId worker = 0;
    sched::Generation generation = 1;
    bool alive = true;     // a process that serves
    bool exiting = false;  // crashed; its exit is not confirmed
    bool up = false;       // it was ready before it began to exit
    bool retired = false;
    bool running = false;  // the front of the stream
    uint64_t run_id = 0;   // invalidates the end of a broken exchange
    std::deque<Exchange> stream;
    std::deque<Armed> armed;
    double factor = 1;
    Time restart = 0;  // of the next replacement, as the crash says
    uint32_t daemon_cache = 0;
  };
  enum class Due : uint8_t { kExchangeEnd, kExit, kReady, kTake, kRelease };
  struct Item {
    Time t;
    uint8_t rank;
    uint64_t seq;
    Due due;
    uint32_t model;
    uint64_t what;  // run id, generation or request
    bool operator>(const Item& o) const {
      return t != o.t ? t > o.t : rank != o.rank ? rank > o.rank : seq > o.seq;
    }
  };
  struct Lease {
    uint32_t model, rung;
    sched::SlotGate::Epoch epoch;
    bool exchange;
  };
  static constexpr uint64_t kNobody = ~0ull;
  struct Request {
    uint32_t model, rung;
    Time hold, take;
    sched::TicketId ticket;
    bool pin;
  };

  void load_models();
  void feed(const sched::Event& event);
  void step(const sched::Event& event);
  void carry_out(const sched::Action& action);
  void pump(uint32_t model);
  void pump_all();
  void set_hints(uint32_t model);
  void schedule(Time t, Due due, uint32_t model, uint64_t what);
  void happen(const Happening& h);
  void fire(const Item& item);
  void exchange_ended(uint32_t model);
  static bool runs(const Process& process, const Exchange& exchange);
  void end_admission(uint32_t model, const Exchange& x);
  void granted(uint64_t id, uint32_t model);
  void drop_lease(uint64_t id, bool print, bool tell);
  void crash(const Happening& h);
  void exit_process(uint32_t model);
  void fault(const Happening& h);
  void request(const Happening& h);
  void cancel(uint64_t id);
  void answered(sched::TicketId ticket, Code code, uint64_t retry_after_ms, bool granted);
  void start_admission_exchange(uint32_t model, Exchange& x);
  void print(LogLine line);
  uint32_t model_of(sched::WorkerId worker) const { return models_of_.at(worker); }
  uint32_t shape_of(uint32_t model, uint32_t rung) const { return workload_.models[model].rungs[rung].shape; }
  double chance();

  Workload workload_;
  Habits habits_;
  sched::Scheduler scheduler_;
  Watcher* watcher_ = nullptr;
  bool keep_records_ = true;
  Time now_ = 0;
  uint64_t steps_ = 0, seq_ = 0, runs_ = 0, draws_ = 0;
  sched::TicketId last_ticket_ = 0;
  size_t next_happening_ = 0;
  size_t unanswered_ = 0;
  std::vector<Process> processes_;
  std::map<sched::WorkerId, uint32_t> models_of_;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> due_;
  // By the caller's id. What comes of walking one of these is put in order first.
  std::unordered_map<uint64_t, Request> waiting_;
  std::unordered_map<uint64_t, Lease> leases_;
  std::unordered_map<uint64_t, Fate> fates_;
  std::vector<uint64_t> asked_by_;  // the caller's id, by ticket - 1; kNobody once answered
  std::deque<sched::Event> events_;
  bool feeding_ = false;
  std::vector<LogLine> log_;
};

}  // namespace anelane::sim
