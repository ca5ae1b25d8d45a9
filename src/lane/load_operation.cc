// A load that is cancelled or late ends its half-started worker. If the handle is dropped before anybody took
// the model, the model is retired: a load that nobody can reach must not keep a worker.
#include "lane/load_operation.h"

#include <algorithm>

#include "lane/lane.h"
#include "lane/port_layout.h"
#include "models/program_model.h"
#include "models/program_pack.h"

namespace anelane {
LoadOperation::LoadOperation(std::shared_ptr<LaneModel> model, uint64_t deadline_ns)
    : Operation(model->lane, deadline_ns), model_(std::move(model)) {}

namespace {

ModelOpenOptions open_options(const ModelOptions& options) {
  ModelOpenOptions open;
  open.rungs = options.rungs;
  open.name = options.name;
  return open;
}

Result<std::shared_ptr<LaneModel>> make_model(std::shared_ptr<Lane> lane, const std::string& path,
                                              const ModelOptions& options, ModelSummary summary) {
  if (summary.layers > lane->options().executable_budget)
    return error(Code::kResourcesExhausted, path + " needs " + std::to_string(summary.layers) +
                                                " programs for one shape, the lane's budget is " +
                                                std::to_string(lane->options().executable_budget))
        .with_class(false)
        .with_retry_after(0)
        .with_limit(lane->options().executable_budget);
  auto model = std::make_shared<LaneModel>(std::move(lane), path, options);
  model->name = summary.name;
  model->last_failure.resize(summary.ladder.size());
  model->admissions.resize(summary.ladder.size());
  model->evictions.resize(summary.ladder.size(), 0);
  model->bay_bytes = bay_bytes_for(summary);
  model->summary = std::move(summary);
  return model;
}

}  // namespace

Result<std::shared_ptr<LoadOperation>> LoadOperation::make(std::shared_ptr<Lane> lane,
                                                           const std::string& folder,
                                                           const ModelOptions& options,
                                                           uint64_t deadline_ns) {
  ANELANE_ASSIGN(ModelSummary summary, inspect_model(folder, open_options(options)));
  ANELANE_ASSIGN(auto model, make_model(std::move(lane), folder, options, std::move(summary)));
  return std::make_shared<LoadOperation>(std::move(model), deadline_ns);
}

Result<std::shared_ptr<LoadOperation>> LoadOperation::make_packed(std::shared_ptr<Lane> lane,
                                                                  std::shared_ptr<const std::string> pack,
                                                                  const ModelOptions& options,
                                                                  uint64_t deadline_ns) {
  ANELANE_ASSIGN(const std::unique_ptr<ProgramFiles> files, open_program_pack(pack));
  ANELANE_ASSIGN(ModelSummary summary, inspect_program_model(*files, "program", open_options(options)));
  ANELANE_ASSIGN(auto model, make_model(std::move(lane), "(memory)", options, std::move(summary)));
  // The pack crosses in the arena, before any tensor does.
  const uint64_t share = pack->size() / kArenaBays + 1;
  model->bay_bytes = std::max(model->bay_bytes, (share + kBayPage - 1) / kBayPage * kBayPage);
  model->pack = std::move(pack);
  return std::make_shared<LoadOperation>(std::move(model), deadline_ns);
}

void LoadOperation::begin() {
  auto self = std::static_pointer_cast<LoadOperation>(shared_from_this());
  if (deadline_ns() != UINT64_MAX) {
    deadline_timer_ = lane_->loop().add_timer(deadline_ns(), [self] {
      self->deadline_timer_ = {};
      self->drop(error(Code::kDeadlineExceeded,
                       "the model was not loaded before the deadline; give a later one (deadlines are "
                       "anelane_now_ns() plus the time to wait)")
                     .with_model(self->model_->name));
    });
  }
  lane_->driver().start_model(model_, [self](Status status) {
    self->lane_->loop().cancel_timer(&self->deadline_timer_);
    if (!status.ok()) return self->finish(std::move(status).with_lane(self->lane_->id()));
    bool unwanted = false;
    {
      std::lock_guard lock(self->mutex_);
      self->ready_ = true;
      unwanted = self->abandoned_;
    }
    if (unwanted) self->lane_->driver().retire(self->model_, [](Status) {});
    self->finish({});
  });
}

void LoadOperation::drop(Status why) {
  if (ended()) return;
  lane_->loop().cancel_timer(&deadline_timer_);
  finish(why);
  lane_->driver().abandon_start(model_, why);  // its own end comes too late to be told
}

void LoadOperation::on_cancel() {
  drop(error(Code::kCancelled, "cancelled by the caller"));
}

void LoadOperation::on_close() {
  drop(lane_->closed_status());
}

std::shared_ptr<LaneModel> LoadOperation::take() {
  std::lock_guard lock(mutex_);
  if (!ready_ || taken_) return nullptr;
  taken_ = true;
  return model_;
}

void LoadOperation::abandon() {
  bool retire = false;
  {
    std::lock_guard lock(mutex_);
    abandoned_ = !taken_;
    retire = ready_ && abandoned_;
  }
  if (retire)
    lane_->loop().post([lane = lane_, model = model_] { lane->driver().retire(model, [](Status) {}); });
}

}  // namespace anelane
