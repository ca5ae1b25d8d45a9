// A world small enough to try every order of events in it. Nothing happens by itself: whatever could happen
// next is a move, and somebody chooses. Time passes only when a timer of the scheduler fires, or in ticks.
//
// The world of world.h follows a clock and so shows one order for each workload; this one has no durations.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "event_log.h"
#include "lane_view.h"
#include "world.h"

namespace anelane::sim {

// Who may ask, and what may go wrong.
struct SmallAsk {
  uint32_t model = 0, rung = 0;
  Time patience = kNever;  // deadline after asking
  bool lazy = false;       // an offered lease is taken later
  bool exchange = false;   // the lease serves an inference that waits for the worker's stream
  bool may_cancel = false;
};
struct SmallSetup {
  const char* name = "";
  Workload world;              // options and models; no happenings
  std::vector<SmallAsk> asks;  // each once, in any order
  bool sends_wait = false;  // what is first on a stream reaches the worker by a move of its own, not at once
  bool learns = false;      // false: as after a clock jump, so that fewer situations differ in costs only
  int ticks = 0;            // how often time may pass without a timer
  Time tick = 20'000;
  int crashes = 0, errors = 0, refusals = 0, failed_evictions = 0, duplicates = 0, retires = 0;
  bool start_may_fail = false;
};

enum class MoveKind : uint8_t {
  kAsk,
  kCancel,
  kTake,
  kRelease,
  kSend,       // what is first on a worker's stream reaches the worker
  kEnd,        // it ends well
  kError,      // an admission is answered with an error, or an eviction
  kFailed,     // … with a deterministic one
  kRefuse,     // for resources
  kDuplicate,  // the last answer or fault comes once more
  kCrash,
  kExit,
  kReady,
  kStartFails,
  kRetire,
  kTick,
  kTimer,
};
struct Move {
  MoveKind kind = MoveKind::kTimer;
  uint32_t who = 0;  // ask, or model
};

class SmallWorld : public LaneView {
 public:
  explicit SmallWorld(const SmallSetup& setup);
  void watch(Watcher* watcher) { watcher_ = watcher; }
  // The models become ready: before the first move.
  void begin();

  // What could happen now; the same for the same past.
  std::vector<Move> moves() const;
  void make(const Move& move);
  std::string describe(const Move& move) const;

  // Heals everything and lets it come to rest: the moves that end things, then timers. False: it does not.
  bool come_to_rest();
  uint64_t digest() const;

  Time now() const { return now_; }
  uint64_t steps() const { return steps_; }
  size_t unanswered() const;
  sched::Scheduler& scheduler() override { return scheduler_; }
  sched::WorkerId worker_of(uint32_t model) const override { return processes_[model].worker; }

 private:
  enum class Kind : uint8_t { kAdmission, kEviction, kInference };
  struct Exchange {
    Kind kind = Kind::kInference;
    uint32_t rung = 0;
    uint32_t ask = 0;
  };
  enum class Life : uint8_t { kServes, kExiting, kGone, kStarting, kRetired };
  struct Process {
    sched::WorkerId worker = 0;
    sched::Generation generation = 1;
    Life life = Life::kServes;
    bool running = false;  // the front of the stream
    std::deque<Exchange> stream;
    uint32_t cache = 0;
    sched::Event last_answer = {};  // kTimer: none
  };
  enum class Fate : uint8_t { kNotAsked, kWaiting, kOffered, kLeased, kOver };
  struct Caller {
    Fate fate = Fate::kNotAsked;
    sched::TicketId ticket = 0;
    sched::SlotGate::Epoch epoch = 0;
  };

  void feed(const sched::Event& event);
  void step(const sched::Event& event);
  void send(uint32_t model);
  void send_all();
  void carry_out(const sched::Action& action);
  void withdraw(Process& p, Kind kind, uint32_t rung);
  void ask(uint32_t i);
  void end_exchange(uint32_t model, MoveKind how);
  void answer(uint32_t model, const Exchange& x, MoveKind how);
  void end_lease(uint32_t i);
  void crash(uint32_t model);
  void exit_process(uint32_t model);
  void add_process_moves(uint32_t model, std::vector<Move>* out) const;
  bool ending_move(Move* out) const;
  uint32_t caller_of(sched::TicketId ticket) const;
  uint32_t model_of(sched::WorkerId worker) const;

  const SmallSetup& setup_;
  sched::Scheduler scheduler_;
  Watcher* watcher_ = nullptr;
  Time now_ = 0;
  uint64_t steps_ = 0;
  sched::TicketId last_ticket_ = 0;
  std::vector<Process> processes_;
  std::vector<Caller> callers_;
  std::deque<sched::Event> events_;
  bool feeding_ = false;
  int ticks_ = 0, crashes_ = 0, errors_ = 0, refusals_ = 0, failed_evictions_ = 0, duplicates_ = 0,
      retires_ = 0;
};

}  // namespace anelane::sim
