// A load that is cancelled or late ends its half-started worker. If the handle is dropped before anybody took
// the model, the model is retired: a load that nobody can reach must not keep a worker.
#include "lane/load_operation.h"

#include <algorithm>

#include "lane/lane.h"
#include "lane/port_layout.h"
#include "models/folder_name.h"
#include "models/program_model.h"
#include "models/program_pack.h"

namespace anelane {
LoadOperation::LoadOperation(std::shared_ptr<LaneModel> model, uint64_t deadline_ns)
    : Operation(model->lane, deadline_ns), model_(std::move(model)) {}

namespace {

using Inspect = std::function<Result<ModelSummary>(const ModelOpenOptions&)>;

std::shared_ptr<LaneModel> make_model(std::shared_ptr<Lane> lane, const std::string& path, std::string name,
                                      const ModelOptions& options, Inspect inspect,
                                      uint64_t least_bay_bytes) {
  const uint32_t budget = lane->options().executable_budget;
  auto model = std::make_shared<LaneModel>(std::move(lane), path, options);
  model->name = options.name.empty() ? std::move(name) : options.name;  // until the files say another
  model->read_headers = [path, options, inspect, budget,
                         least_bay_bytes](const std::atomic<bool>& abort) -> Result<LaneModel::Headers> {
    ModelOpenOptions open;
    open.rungs = options.rungs;
    open.name = options.name;
    open.budget = budget;
    open.abort = &abort;
    LaneModel::Headers headers;
    ANELANE_ASSIGN(headers.summary, inspect(open));
    ANELANE_TRY(check_budget(path, headers.summary.layers, budget));
    headers.bay_bytes = std::max(bay_bytes_for(headers.summary), least_bay_bytes);
    return headers;
  };
  return model;
}

}  // namespace

std::shared_ptr<LoadOperation> LoadOperation::make(std::shared_ptr<Lane> lane, const std::string& folder,
                                                   const ModelOptions& options, uint64_t deadline_ns) {
  const auto inspect = [folder](const ModelOpenOptions& open) { return inspect_model(folder, open); };
  return std::make_shared<LoadOperation>(
      make_model(std::move(lane), folder, folder_name(folder), options, inspect, 0), deadline_ns);
}

std::shared_ptr<LoadOperation> LoadOperation::make_packed(std::shared_ptr<Lane> lane,
                                                          std::shared_ptr<const std::string> pack,
                                                          const ModelOptions& options, uint64_t deadline_ns) {
  const auto inspect = [pack](const ModelOpenOptions& open) -> Result<ModelSummary> {
    ANELANE_ASSIGN(const std::unique_ptr<ProgramFiles> files, open_program_pack(pack));
    return inspect_program_model(*files, "program", open);
  };
  // The pack crosses in the arena, before any tensor does.
  const uint64_t share = pack->size() / kArenaBays + 1;
  auto model = make_model(std::move(lane), "(memory)", "program", options, inspect,
                          (share + kBayPage - 1) / kBayPage * kBayPage);
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
    if (!status.ok())
      return self->finish(std::move(status).with_lane(self->lane_->id()).with_model(self->model_->name));
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
