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

Room Ledger::free_but(int64_t stuck_executables, int64_t stuck_slots, int64_t stuck_own) const {
  return Room{budget_ - stuck_executables, total_ - stuck_slots, per_model_ - stuck_own};
}

}  // namespace anelane::sched
