// The lane's one decision maker: a deterministic state machine on integer microseconds. It owns slots,
// budget, the admission queue, hand-offs, predictions and recovery order; it has no clock, thread or I/O.
// Production feeds it from the loop thread; the simulator feeds it from a virtual clock. One thread at a time
// calls it.
//
// What callers do on the fast path (SlotGate) is the only thing that changes behind its back; it reads those
// words when it decides.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/slot_gate.h"
#include "scheduler/types.h"

namespace anelane::sched {

struct SlotView {
  uint32_t shape = 0;
  uint32_t leases = 0;
  const char* state = "";  // "admitting", "resident", "evicting", "failed"
};

// What is known about making a shape resident.
struct CostView {
  uint32_t shape = 0;
  bool cached = false;         // so it is predicted as a load
  Time load = kUnknown;        // the last measured one, or the seed
  Time compile = kUnknown;     // predicted: measured, or the seed scaled to this machine
  bool compile_known = false;  // measured on this machine
};

struct QueueView {
  WorkerId worker = 0;
  uint32_t shape = 0;
  uint32_t waiting = 0;  // tickets
  Time key = 0;
  Time predicted = kUnknown;
  bool is_load = false;
  bool earmarked = false;  // room is kept for it (L3.7)
};

struct WorkerView {
  WorkerId id = 0;
  std::string name;
  Generation generation = 0;
  const char* state = "";  // "starting", "ready", "recovering", "unconfirmed", "quarantined", "retiring"
  uint32_t restarts = 0;
  uint64_t held_ms = 0;  // held back (L6.4): until it may serve again
  std::vector<SlotView> slots;
  std::vector<CostView> costs;  // one for each rung
};

// What is going on, as of the last step. A copy: consistent in itself.
struct Snapshot {
  uint32_t budget = 0, charged = 0, resident = 0, leased = 0, waiting = 0;
  WorkerId compiling_worker = 0;  // 0: none
  uint32_t compiling_shape = 0;
  Time compiling_for = 0, compiling_predicted = kUnknown;
  uint64_t admitted = 0, loaded = 0, compiled = 0, evicted = 0, refused = 0, restarts = 0, answered = 0,
           cancelled = 0;
  double machine_factor = 1;
  std::vector<WorkerView> workers;
  std::vector<QueueView> queue;
};

// Sees everything that goes into a scheduler and comes out of it, in order. What callers change behind its
// back are the words of the slot gates: whoever records a history sees each read here; whoever replays one
// gives the recorded value back.
class Observer {
 public:
  enum class Read : uint8_t { kLeases, kClosed, kLastUse, kAskedWake };
  virtual ~Observer() = default;
  // `value` was read; the scheduler goes on with what is returned.
  virtual uint64_t read(WorkerId worker, uint32_t rung, Read what, uint64_t value) = 0;
  // The driver's hints about a worker, when they are not what the scheduler knew.
  virtual void hinted(WorkerId /*worker*/, bool /*stream_idle*/, uint32_t /*blocked*/) {}
  virtual void worker_added(WorkerId /*worker*/, const WorkerSpec& /*spec*/) {}
  virtual void worker_forgotten(WorkerId /*worker*/) {}
  virtual void stepped(Time /*now*/, const Event& /*event*/, std::span<const Action> /*actions*/) {}
};

// kKeepsEnding: quarantined. kCannotStart: the machine lacks what a start takes.
enum class Outage : uint8_t { kNone, kKeepsEnding, kCannotStart };

class Scheduler {
 public:
  explicit Scheduler(const Options& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A model's worker, before its first kWorkerReady (the load report has been received). Names the fast path
  // words of its rungs, which live until kRetired and forget(). Its first generation is 1.
  WorkerId add_worker(const WorkerSpec& spec);
  // After kRetired: nobody may touch its gates any more.
  void forget(WorkerId worker);
  SlotGate& gate(WorkerId worker, uint32_t rung);

  // One event. The actions are in the order in which they must be carried out and stay valid until the
  // next call. `now` never goes back.
  std::span<const Action> step(Time now, const Event& event);
  // When kTimer must come at the latest; kNever if nothing is pending.
  Time next_due() const;

  // Predicted time until the shape is resident, were it asked for now, in whole milliseconds and with the
  // same least values as an early answer's (L4.9); 0 = resident. kUnknown: no such worker. Starts nothing.
  Time predict(Time now, WorkerId worker, uint32_t rung) const;
  Snapshot snapshot(Time now) const;
  uint32_t charged() const;  // executables, as in the snapshot

  // The driver says whether a worker's stream is idle (a hint, L3.7) and how many exchanges wait for it.
  void set_stream_hint(WorkerId worker, bool idle);
  // Which rungs have a lease whose exchange waits behind an admission on the worker's stream (L3.5).
  void set_blocked_leases(WorkerId worker, uint32_t rung_mask);
  // Does a change of this worker's stream to idle matter now (retirement, prewarm)? If not, kStreamIdle may
  // be left out.
  bool wants_stream_idle(WorkerId worker) const;
  // For messages: why its requests may be told to come back later (L6.4).
  Outage outage(WorkerId worker) const;
  // The coarse lane time for SlotGate stamps; step() publishes `now` here.
  const std::atomic<Time>& coarse_now() const;
  // The same between steps.
  void publish(Time now);
  // Nullptr: nobody looks. Not owned.
  void observe(Observer* observer);
  // Empty, or the invariant that was found broken: everybody has been answered ENGINE_CRASHED (L4.14).
  const std::string& broken() const;

 private:
  friend class CoreDigest;  // the model checker of tests/sim compares states
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace anelane::sched
