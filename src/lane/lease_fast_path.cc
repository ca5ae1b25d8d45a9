// The rare ends of the fast path: each asks the model's lane, under the core's lock, for something.
#include "lane/lease_fast_path.h"

#include "lane/lane.h"

namespace anelane::lease_events {

void first_after_quiet(ModelCore& core) {
  if (auto model = core.lock_model())
    model->lane->loop().post([model] { model->lane->driver().start_ticking(); });
}

void last_is_gone(ModelCore& core, uint32_t rung) {
  if (auto model = core.lock_model())
    model->lane->loop().post([model, rung] { model->lane->driver().released(model, rung); });
}

void bay_is_free(ModelCore& core, int32_t bay) {
  if (auto model = core.lock_model())
    if (auto stream = model->stream()) stream->return_bay(bay);
}

bool drop_dead_leases(ModelCore& core, uint32_t rung) {
  bool any = false;
  sched::SlotGate& gate = core.gates[rung];
  core.leases[rung].each_leased([&](uint32_t index, uint64_t generation, LeaseBook::Record& record) {
    if (gate.valid(record.epoch.load(std::memory_order_relaxed))) return;
    uint32_t epoch = 0;
    int32_t bay = -1;  // of a process that is gone
    if (!core.leases[rung].give_back(index, generation, &epoch, &bay)) return;
    any = true;
    // Nothing, unless the record has just been taken anew for a process that has just come.
    if (gate.release(epoch, core.coarse_now)) last_is_gone(core, rung);
  });
  return any;
}

}  // namespace anelane::lease_events
