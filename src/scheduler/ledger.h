// The books: what is charged, what comes back, what is earmarked (L2.4, L3.1, L3.7). A charge is taken when
// an admission starts and returned on the worker's word or its confirmed exit, never earlier.
//
// Room is what an entry may still take, under the three limits: executables, shapes in the lane, shapes of
// its own model. Negative means over-committed by others' earmarks.
#pragma once
#include <cstdint>

#include "scheduler/types.h"
#include "scheduler/worker.h"

namespace anelane::sched {

struct Room {
  int64_t executables = 0;
  int64_t slots = 0;
  int64_t own_slots = 0;
  bool fits(uint32_t layers) const { return executables >= layers && slots >= 1 && own_slots >= 1; }
  bool lane_fits(uint32_t layers) const { return executables >= layers && slots >= 1; }
};

class Ledger {
 public:
  explicit Ledger(const Options& options)
      : budget_(options.executable_budget),
        total_(options.shapes_total),
        per_model_(options.shapes_per_model) {}

  void charge(Worker& w);
  void refund(Worker& w);
  void begin_eviction(Worker& w);
  // The eviction ended, whatever its outcome; a refund is separate.
  void end_eviction(Worker& w);
  void earmark(Worker& w);
  void end_earmark(Worker& w);

  // Could it ever fit?
  bool possible(uint32_t layers) const { return layers <= budget_ && total_ >= 1 && per_model_ >= 1; }
  // Free now, for an entry of `w`; `earmarked`: it has an earmark itself, which does not count against it.
  Room free_now(const Worker& w, bool earmarked) const;
  // The same once the evictions under way are done.
  Room free_soon(const Worker& w, bool earmarked) const;
  // Room if only `stuck` charges remained (L3.5's third kind of passed-over head).
  Room free_but(int64_t stuck_executables, int64_t stuck_slots, int64_t stuck_own) const;

  int64_t charged() const { return charged_; }
  int64_t slots() const { return slots_; }
  int64_t budget() const { return budget_; }
  bool within_limits() const {
    return charged_ <= budget_ && slots_ <= total_ && charged_ >= 0 && slots_ >= 0;
  }

 private:
  int64_t budget_, total_, per_model_;
  int64_t charged_ = 0, slots_ = 0;
  int64_t evicting_ = 0, evicting_slots_ = 0;
  int64_t earmarked_ = 0, earmarked_slots_ = 0;
};

inline Room Ledger::free_now(const Worker& w, bool earmarked) const {
  Room room{budget_ - charged_ - earmarked_, total_ - slots_ - earmarked_slots_,
            per_model_ - w.slots - w.earmarks};
  if (earmarked) {
    room.executables += w.layers;
    ++room.slots;
    ++room.own_slots;
  }
  return room;
}

inline Room Ledger::free_soon(const Worker& w, bool earmarked) const {
  Room room = free_now(w, earmarked);
  room.executables += evicting_;
  room.slots += evicting_slots_;
  room.own_slots += w.slots_evicting;
  return room;
}

}  // namespace anelane::sched
