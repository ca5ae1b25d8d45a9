// Lease expiry (L3.2) without a clock on the fast path: while any lease is held the lane thread ticks eight
// times per lease_max, and a lease that was neither granted nor used for nine ticks is given back for its
// holder. So a lease lives at least lease_max and at most an eighth longer. With no lease held there is no
// tick and no wake-up: the first lease after a quiet time asks for it (`ticking`).
#include <algorithm>

#include "base/clock.h"
#include "lane/driver.h"
#include "lane/lane.h"

namespace anelane {
namespace {
constexpr uint32_t kTicksPerLease = 8;
}

void Driver::start_ticking() {
  if (ticking_ || stopped_) return;
  ticking_ = true;
  for (auto& [id, model] : models_) model->core->ticking.store(true);
  const uint64_t period_ms = std::max<uint64_t>(options_.lease_max_ms / kTicksPerLease, 1);
  tick_timer_ = lane_->loop().add_timer(now_ns() + period_ms * 1'000'000, [this] {
    tick_timer_ = {};
    tick();
  });
}

void Driver::tick() {
  ticking_ = false;
  bool any = false;
  const sched::Time now = now_us();
  publish_time(now);
  for (auto& [id, model] : models_) {
    model->core->tick.fetch_add(1, std::memory_order_relaxed);
    // Before the look at the gates: a lease that this look misses sees `ticking` false and wakes us.
    model->core->ticking.store(false);
    any = expire_leases(*model) || any;
    if (model->link) model->link->look_at_callers();
  }
  if (any) start_ticking();
}

// True: some lease or run is still held.
bool Driver::expire_leases(LaneModel& model) {
  bool held = false;
  ModelCore& core = *model.core;
  const uint32_t tick = core.tick.load(std::memory_order_relaxed);
  for (uint32_t rung = 0; rung < model.summary.ladder.size(); ++rung) {
    held = held || core.gates[rung].leases() != 0;
    core.leases[rung].each_leased([&](uint32_t index, uint64_t generation, LeaseBook::Record& record) {
      if (tick - record.tick.load(std::memory_order_relaxed) <= kTicksPerLease) {
        held = true;  // perhaps of a process that is gone: the gate does not count it
        return;
      }
      uint32_t epoch = 0;
      int32_t bay = -1;
      if (!core.leases[rung].give_back(index, generation, &epoch, &bay)) return;
      // A stale epoch means another process by now, whose bays were never lent to this lease.
      if (const auto stream = model.stream(); stream && bay >= 0 && core.gates[rung].valid(epoch))
        stream->return_bay(bay);
      if (core.gates[rung].release(epoch, core.coarse_now)) {
        sched::Event e;
        e.kind = sched::EventKind::kReleased;
        e.worker = model.worker;
        e.generation = model.generation;
        e.rung = rung;
        feed(e);
      }
    });
  }
  return held;
}

}  // namespace anelane
