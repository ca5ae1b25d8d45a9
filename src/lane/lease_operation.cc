// The fast path touches: the core's generation and ladder (read only), one gate word, one bit of the lease
// book, one record. All of it belongs to the shape, so threads on different shapes do not meet.
#include "lane/lease_operation.h"

#include "lane/lane.h"

namespace anelane {

bool lease_resident(ModelCore& core, uint32_t rung, LeaseId* out) {
  const sched::SlotGate::Epoch epoch = core.gates[rung].try_lease(core.coarse_now);
  if (epoch == 0) return false;
  const LeaseBook::Ticket ticket = core.leases[rung].take(epoch, core.tick.load(std::memory_order_relaxed));
  if (ticket.index == LeaseBook::kRecords) {
    if (core.gates[rung].release(epoch, core.coarse_now))
      if (auto model = core.lock_model())
        model->lane->loop().post([model, rung] { model->lane->driver().released(model, rung); });
    return false;
  }
  *out = {core.index, rung, ticket.index, ticket.generation};
  if (!core.ticking.load()) {
    // The first lease after a quiet time: somebody must look at expiry from now on.
    if (auto model = core.lock_model())
      model->lane->loop().post([model] { model->lane->driver().start_ticking(); });
  }
  return true;
}

void release_lease(const LeaseId& id) {
  ModelCore* core = core_at(id.core);
  if (core == nullptr || id.rung >= limits::kMaxRungs) return;
  uint32_t epoch = 0;
  int32_t bay = -1;
  if (!core->leases[id.rung].give_back(id.record, id.generation, &epoch, &bay)) return;
  if (bay >= 0 && core->gates[id.rung].valid(epoch)) {
    if (auto model = core->lock_model())
      if (auto stream = model->stream()) stream->return_bay(bay);
  }
  if (!core->gates[id.rung].release(epoch, core->coarse_now)) return;
  if (auto model = core->lock_model()) {
    const uint32_t rung = id.rung;
    model->lane->loop().post([model, rung] { model->lane->driver().released(model, rung); });
  }
}

LeaseOperation::LeaseOperation(std::shared_ptr<LaneModel> model, uint32_t rung, bool pin,
                               uint64_t deadline_ns)
    : Operation(model->lane, deadline_ns), model_(std::move(model)), rung_(rung), pin_(pin) {}

void LeaseOperation::begin() {
  auto self = std::static_pointer_cast<LeaseOperation>(shared_from_this());
  ticket_ = lane_->driver().request(
      model_, rung_, deadline_ns(), pin_, [self](Result<sched::SlotGate::Epoch> granted) {
        self->ticket_ = 0;
        if (!granted.ok()) return self->finish(std::move(granted).status());
        if (!self->pin_) return self->finish({});
        ModelCore& core = *self->model_->core;
        const auto ticket =
            core.leases[self->rung_].take(*granted, core.tick.load(std::memory_order_relaxed));
        if (ticket.index == LeaseBook::kRecords) {
          self->lane_->driver().release(self->model_, self->rung_, *granted);
          return self->finish(self->model_->with_names(
              error(Code::kResourcesExhausted, std::to_string(LeaseBook::kRecords) +
                                                   " leases of this shape are held already; release some")
                  .with_limit(LeaseBook::kRecords),
              self->rung_));
        }
        const LeaseId id{core.index, self->rung_, ticket.index, ticket.generation};
        self->lane_->driver().start_ticking();
        bool unwanted = false;
        {
          std::lock_guard lock(self->mutex_);
          self->lease_ = id;
          self->have_ = !self->abandoned_;
          unwanted = self->abandoned_;
        }
        if (unwanted) release_lease(id);
        self->finish({});
      });
}

void LeaseOperation::on_cancel() {
  if (ticket_ != 0) lane_->driver().cancel(ticket_);
}

bool LeaseOperation::take(LeaseId* out) {
  std::lock_guard lock(mutex_);
  if (!have_) return false;
  have_ = false;
  *out = lease_;
  return true;
}

void LeaseOperation::abandon() {
  LeaseId id;
  {
    std::lock_guard lock(mutex_);
    abandoned_ = true;
    if (!have_) return;
    have_ = false;
    id = lease_;
  }
  release_lease(id);
}

RetireOperation::RetireOperation(std::shared_ptr<LaneModel> model, uint64_t deadline_ns)
    : Operation(model->lane, deadline_ns), model_(std::move(model)) {}

void RetireOperation::begin() {
  auto self = std::static_pointer_cast<RetireOperation>(shared_from_this());
  if (deadline_ns() != UINT64_MAX) {
    deadline_timer_ = lane_->loop().add_timer(deadline_ns(), [self] {
      self->deadline_timer_ = {};
      self->finish(
          error(Code::kDeadlineExceeded, "the model still has work in flight; its retirement goes on")
              .with_model(self->model_->name)
              .with_lane(self->lane_->id()));
    });
  }
  lane_->driver().retire(model_, [self](Status status) {
    self->lane_->loop().cancel_timer(&self->deadline_timer_);
    self->finish(std::move(status));
  });
}

void RetireOperation::on_cancel() {
  finish(error(Code::kCancelled, "no longer waited for; the retirement goes on"));
}

}  // namespace anelane
