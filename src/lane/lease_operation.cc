#include "lane/lease_operation.h"

#include "lane/lane.h"

namespace anelane {

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
        const auto ticket = take_record(core, self->rung_, *granted);
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
