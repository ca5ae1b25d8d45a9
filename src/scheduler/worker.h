// What the scheduler knows of one worker: its process, its admission, its rungs. Plain data.
//
// starting → ready → recovering (→ unconfirmed) → waiting (no process: back-off) → starting; from anywhere to
// retiring → retired. A worker has a process in every state but waiting and retired.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/cost_book.h"
#include "scheduler/shape.h"

namespace anelane::sched {

enum class WorkerState : uint8_t {
  kStarting,
  kReady,
  kRecovering,   // its process is being ended, or its leases are drained before that
  kUnconfirmed,  // the exit is overdue (L6.2)
  kWaiting,      // no process; the next start is due later
  kRetiring,
  kRetired,
};

// The gates of L4.1.
enum class GateKind : uint8_t { kCompile, kLoad };

enum class AdmissionPhase : uint8_t {
  kElected,     // dispatched; waits for the worker's stream
  kSent,        // on the wire
  kEvicting,    // refused for resources; a victim is being evicted (L4.15)
  kReclaiming,  // the pause after that
  kLost,        // unknown outcome
};

struct Admission {
  Shape* shape = nullptr;
  AdmissionPhase phase = AdmissionPhase::kElected;
  bool is_load = false;   // predicted as a load
  bool repriced = false;  // L4.6
  bool prewarm = false;
  bool packed = false;        // never learned (L4.7)
  bool refused = false;       // at least once: never learned (L4.7)
  Time predicted = kUnknown;  // as a compile once repriced
  Time sent_at = 0;
  uint32_t evictions = 0;  // for refusals, acknowledged
  uint32_t victims_tried = 0;
  bool holds_gate = true;
  GateKind gate = GateKind::kCompile;
  TimerHeap::Handle reprice_timer = TimerHeap::kNone;
  TimerHeap::Handle reclaim_timer = TimerHeap::kNone;
  TimerHeap::Handle gate_timer = TimerHeap::kNone;
  bool active() const { return shape != nullptr; }
};

struct Prewarm {
  bool pending = false;
  uint32_t next = 0;  // rung index
  Time started = 0;
  uint32_t loaded = 0, from_cache = 0, already_resident = 0, skipped = 0, failed = 0;  // masks
};

struct Worker {
  explicit Worker(const WorkerSpec& spec)
      : name(spec.name), program(spec.program), layers(spec.layers), ladder(spec.ladder), costs(spec) {}

  WorkerId id = 0;
  std::string name;
  std::string program;
  uint32_t layers;
  std::vector<uint32_t> ladder;
  CostBook costs;
  bool wants_prewarm = false;
  std::unique_ptr<SlotGate[]> own_gates;
  std::deque<Shape> shapes;  // by rung; addresses are stable

  WorkerState state = WorkerState::kStarting;
  Generation generation = 1;
  bool retire_asked = false;
  bool ending = false;      // kRecover or kCloseWorker was said
  bool broken = false;      // recovering after a fault, not a planned restart
  bool stream_idle = true;  // the driver's hint (L3.7)
  uint32_t blocked = 0;     // mask: rungs whose lease waits behind an admission on this stream (L3.5)
  Admission admission;
  Prewarm prewarm;

  // ---- charges ----
  int64_t slots = 0;            // charged
  int64_t slots_evicting = 0;   // of these, being evicted
  int64_t earmarks = 0;         // entries of this worker with an earmark
  uint64_t hold_after = ~0ull;  // order of the first ticket that holds back this model's later ones (L3.5)

  // ---- recovery ----
  TimerHeap::Handle exit_timer = TimerHeap::kNone;
  TimerHeap::Handle drain_timer = TimerHeap::kNone;
  TimerHeap::Handle spawn_timer = TimerHeap::kNone;
  std::vector<Time> crashes;  // of the last minute
  bool quarantined = false;   // until a start has held for a minute (L6.4)
  uint32_t short_starts = 0;  // in a row for which the machine lacked something; no crashes
  Time probe_at = 0;          // the next start, while held back
  Time ready_at = 0;
  uint32_t restarts = 0;

  bool serves() const { return state == WorkerState::kReady; }
  static constexpr uint32_t kShortStartsMax = 5;  // its requests are not kept waiting for more of them
  bool held_back() const { return !serves() && (quarantined || short_starts >= kShortStartsMax); }
  bool has_process() const { return state != WorkerState::kWaiting && state != WorkerState::kRetired; }
  // Its charges come back only with an exit that nobody has confirmed yet.
  bool exit_pending() const {
    return state == WorkerState::kRecovering || state == WorkerState::kUnconfirmed ||
           (state == WorkerState::kRetiring && (ending || broken));
  }
};

}  // namespace anelane::sched
