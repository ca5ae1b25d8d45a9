// The fast path of leases (L3.3): a resident shape is leased and given back without lock, system call,
// allocation or clock read. It touches the core's generation and ladder (read only), one gate word and one
// record of the lease book: all of it belongs to the shape, so threads on different shapes do not meet. What
// is rare, and may lock, is in lease_fast_path.cc.
#pragma once
#include <cstdint>

#include "lane/model_core.h"

namespace anelane {

// A lease as a handle carries it.
struct LeaseId {
  uint32_t core = 0, rung = 0, record = 0;
  uint64_t generation = 0;
};

namespace lease_events {
void first_after_quiet(ModelCore& core);            // somebody must look at expiry from now on
void last_is_gone(ModelCore& core, uint32_t rung);  // and the scheduler asked to be told
void bay_is_free(ModelCore& core, int32_t bay);
// All records are taken: those of leases that ended with their process are given back. False: there are none.
bool drop_dead_leases(ModelCore& core, uint32_t rung);
}  // namespace lease_events

// A record for a lease of this epoch, which the caller has from the gate. index kRecords: all are held.
inline LeaseBook::Ticket take_record(ModelCore& core, uint32_t rung, sched::SlotGate::Epoch epoch) {
  const uint32_t tick = core.tick.load(std::memory_order_relaxed);
  LeaseBook::Ticket ticket = core.leases[rung].take(epoch, tick);
  if (ticket.index == LeaseBook::kRecords && lease_events::drop_dead_leases(core, rung))
    ticket = core.leases[rung].take(epoch, tick);
  return ticket;
}

// False: queue.
inline bool lease_resident(ModelCore& core, uint32_t rung, LeaseId* out) {
  const sched::SlotGate::Epoch epoch = core.gates[rung].try_lease(core.coarse_now);
  if (epoch == 0) return false;
  const LeaseBook::Ticket ticket = take_record(core, rung, epoch);
  if (ticket.index == LeaseBook::kRecords) {
    if (core.gates[rung].release(epoch, core.coarse_now)) lease_events::last_is_gone(core, rung);
    return false;
  }
  *out = {core.index, rung, ticket.index, ticket.generation};
  if (!core.ticking.load()) lease_events::first_after_quiet(core);
  return true;
}

// Gives a lease back, once; later calls and stale ids do nothing.
inline void release_lease(const LeaseId& id) {
  ModelCore* core = core_at(id.core);
  if (core == nullptr || id.rung >= limits::kMaxRungs) return;
  uint32_t epoch = 0;
  int32_t bay = -1;
  if (!core->leases[id.rung].give_back(id.record, id.generation, &epoch, &bay)) return;
  sched::SlotGate& gate = core->gates[id.rung];
  if (bay >= 0 && gate.valid(epoch)) lease_events::bay_is_free(*core, bay);
  if (gate.release(epoch, core->coarse_now)) lease_events::last_is_gone(*core, id.rung);
}

}  // namespace anelane
