// Sums only; who may change them is decided elsewhere. An earmark counts for every other entry like a charge,
// free or still to be freed (L3.7).
#include "scheduler/ledger.h"

namespace anelane::sched {

void Ledger::charge(Worker& w) {
  charged_ += w.layers;
  ++slots_;
  ++w.slots;
}

void Ledger::refund(Worker& w) {
  charged_ -= w.layers;
  --slots_;
  --w.slots;
}

void Ledger::begin_eviction(Worker& w) {
  evicting_ += w.layers;
  ++evicting_slots_;
  ++w.slots_evicting;
}

void Ledger::end_eviction(Worker& w) {
  evicting_ -= w.layers;
  --evicting_slots_;
  --w.slots_evicting;
}

void Ledger::earmark(Worker& w) {
  earmarked_ += w.layers;
  ++earmarked_slots_;
  ++w.earmarks;
}

void Ledger::end_earmark(Worker& w) {
  earmarked_ -= w.layers;
  --earmarked_slots_;
  --w.earmarks;
}

Room Ledger::free_now(const Worker& w, bool earmarked) const {
  Room room{budget_ - charged_ - earmarked_, total_ - slots_ - earmarked_slots_,
            per_model_ - w.slots - w.earmarks};
  if (earmarked) {
    room.executables += w.layers;
    ++room.slots;
    ++room.own_slots;
  }
  return room;
}

Room Ledger::free_soon(const Worker& w, bool earmarked) const {
  Room room = free_now(w, earmarked);
  room.executables += evicting_;
  room.slots += evicting_slots_;
  room.own_slots += w.slots_evicting;
  return room;
}

Room Ledger::free_but(int64_t stuck_executables, int64_t stuck_slots, int64_t stuck_own) const {
  return Room{budget_ - stuck_executables, total_ - stuck_slots, per_model_ - stuck_own};
}

}  // namespace anelane::sched
