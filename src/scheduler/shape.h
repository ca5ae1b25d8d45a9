// What the scheduler knows of one (worker, rung): its slot, the tickets that want it, its entry in the queue
// and its promise. Plain data; the rules stand in the files of core.h.
//
// Slot states (L3.1): absent → admitting → resident → evicting → absent; admitting → absent on an answered
// error; admitting or evicting → failed on an unknown outcome; anything → absent at the confirmed exit.
// The slot is charged in every state but absent.
#pragma once
#include <compare>
#include <vector>

#include "scheduler/demand.h"
#include "scheduler/slot_gate.h"

namespace anelane::sched {

struct Worker;
struct Shape;

enum class SlotState : uint8_t { kAbsent, kAdmitting, kResident, kEvicting, kFailed };
const char* slot_state_name(SlotState state);
bool slot_may_become(SlotState from, SlotState to);

// L4.2: lowest key first, ties by arrival, then ticket order. `placed` counts the entries put directly behind
// another one (L4.11), which share the other's first three parts.
struct QueueKey {
  Time key = 0;
  Time arrival = 0;
  TicketId ticket = 0;
  uint64_t placed = 0;
  auto operator<=>(const QueueKey&) const = default;
};

struct Shape {
  Worker* worker = nullptr;
  uint32_t rung = 0;
  SlotGate* gate = nullptr;
  SlotState state = SlotState::kAbsent;
  bool held = true;          // callers may not lease on their own
  bool wake = false;         // the release of its last lease will be told
  uint64_t wake_round = 0;   // when that was last asked for
  Demand demand;             // waiting tickets
  TicketList offered, lost;  // L3.6

  // ---- the entry, while queued ----
  bool queued = false;
  bool packed = false;          // opened by the preparation of a packed program
  QueueKey own;                 // fixed at arrival; kept while the admission runs
  QueueKey place;               // in the queue: `own`, or behind another (L4.11)
  bool earmarked = false;       // L3.7
  std::vector<Shape*> victims;  // evictions under way for this entry's earmark

  // ---- the promise (L4.10) ----
  bool promised = false;
  Time promise_ends = 0;
  TimerHeap::Handle promise_timer = TimerHeap::kNone;

  // ---- the eviction, while evicting ----
  bool eviction_sent = false;
  Shape* evicted_for = nullptr;           // the earmarked entry
  Worker* evicted_for_refusal = nullptr;  // whose admission was refused (L4.15)
};

}  // namespace anelane::sched
