// States on the lane thread: waiting for a lease (ticket_) → leased, exchange queued (exchange_, !sent_) → on
// the wire (sent_) → … → ended. The caller may be told the end early (cancel, deadline, close) while the
// exchange is on the wire; then the reply is drained, the lease given back, and nothing more is asked (L5.3).
// A resident shape is leased whatever the deadline; past it nothing is sent, and no reply is taken (L5.4).
//
// A group is one exchange under one lease; a group larger than the arena's bay takes several, in a row, under
// the same lease.
#include "lane/embed_operation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/clock.h"
#include "lane/lane.h"
#include "lane/port_layout.h"

namespace anelane {
namespace {

Status too_late() {
  return error(Code::kDeadlineExceeded,
               "the vectors were not ready before the deadline; give a later one (deadlines are "
               "anelane_now_ns() plus the time to wait)");
}

}  // namespace

EmbedOperation::EmbedOperation(std::shared_ptr<LaneModel> model, std::vector<std::vector<int32_t>> items,
                               uint64_t deadline_ns)
    : Operation(model->lane, deadline_ns), model_(std::move(model)), items_(std::move(items)) {
  floats_.resize(items_.size() * model_->summary.dim);
  item_codes_.assign(items_.size(), Code::kPending);
  std::map<uint32_t, Group> by_rung;
  for (uint32_t row = 0; row < items_.size(); ++row) {
    const uint32_t shape = rung_for(model_->summary.ladder, items_[row].size());
    const auto& ladder = model_->summary.ladder;
    const auto rung = static_cast<uint32_t>(std::find(ladder.begin(), ladder.end(), shape) - ladder.begin());
    by_rung[rung].rung = rung;
    by_rung[rung].rows.push_back(row);
  }
  for (auto& [rung, group] : by_rung) groups_.push_back(std::move(group));
}

Result<std::shared_ptr<EmbedOperation>> EmbedOperation::make(std::shared_ptr<LaneModel> model,
                                                             std::vector<std::vector<int32_t>> items,
                                                             uint64_t deadline_ns) {
  for (size_t i = 0; i < items.size(); ++i)
    ANELANE_TRY(model->check_sequence(items[i], static_cast<int64_t>(i)));
  return std::make_shared<EmbedOperation>(std::move(model), std::move(items), deadline_ns);
}

void EmbedOperation::begin() {
  if (deadline_ns() != UINT64_MAX) {
    auto self = std::static_pointer_cast<EmbedOperation>(shared_from_this());
    deadline_timer_ = lane_->loop().add_timer(std::max<uint64_t>(deadline_ns(), 1), [self] {
      self->deadline_timer_ = {};
      self->on_deadline();
    });
  }
  next_group();
}

void EmbedOperation::next_group() {
  if (ended()) return;
  if (group_ == groups_.size()) return end({});
  auto self = std::static_pointer_cast<EmbedOperation>(shared_from_this());
  ticket_ = lane_->driver().request(model_, groups_[group_].rung, deadline_ns(), true,
                                    [self](Result<sched::SlotGate::Epoch> granted) {
                                      self->ticket_ = 0;
                                      if (!granted.ok()) return self->end(std::move(granted).status());
                                      self->leased(*granted);
                                    });
}

void EmbedOperation::leased(sched::SlotGate::Epoch epoch) {
  epoch_ = epoch;
  if (ended()) return end({});
  exchange();
}

void EmbedOperation::exchange() {
  stream_ = model_->stream();
  if (!stream_ || !model_->link || model_->link->stream() != stream_)
    return end(error(Code::kEngineCrashed, "the worker of " + model_->name + " ended; ask again"));
  auto self = std::static_pointer_cast<EmbedOperation>(shared_from_this());
  // The arena is filled, and the frame made, only once the permit is ours.
  WorkerLink::Exchange x;
  x.frame.type = worker::FrameType::kEmbed;
  const auto body = std::make_shared<worker::EmbedBody>();
  x.prepare = [self, body] { return self->late() ? too_late() : self->fill(*self->stream_, body.get()); };
  x.make_body = [body] { return worker::encode(*body); };
  x.sent = [self] { self->sent_ = true; };
  x.timeout_ms = limits::kInferExchangeMs;
  x.lease_mask = 1u << groups_[group_].rung;
  x.done = [self](Result<worker::Frame> reply) { self->answered(std::move(reply)); };
  const uint64_t id = model_->link->submit(std::move(x));
  if (stream_) exchange_ = id;
}

// As many rows of the group as the bay holds.
Status EmbedOperation::fill(WorkerStream& stream, worker::EmbedBody* body) {
  const Group& group = groups_[group_];
  const uint32_t dim = model_->summary.dim;
  const size_t left = group.rows.size() - group.done;
  const size_t most = std::min<size_t>(left, (limits::kFrameMax - 256) / sizeof(uint32_t));
  uint64_t tokens = 0;
  chunk_ = 0;
  const uint64_t rows_max =
      std::max<uint64_t>(limits::kExchangeTokens / model_->summary.ladder[group.rung], 1);
  while (chunk_ < std::min<uint64_t>(most, rows_max)) {
    const uint64_t more = items_[group.rows[group.done + chunk_]].size();
    if (embed_layout(tokens + more, chunk_ + 1, dim).bytes > stream.bay_bytes()) break;
    tokens += more;
    ++chunk_;
  }
  if (chunk_ == 0)
    return error(Code::kInternal, "a sequence does not fit into the shared memory made for its model");
  body->shape = model_->summary.ladder[group.rung];
  body->ids_offset = 0;
  body->out_offset = out_offset_ = embed_layout(tokens, chunk_, dim).out_offset;
  uint8_t* at = stream.arena().data();
  for (size_t i = 0; i < chunk_; ++i) {
    const std::vector<int32_t>& ids = items_[group.rows[group.done + i]];
    std::memcpy(at, ids.data(), ids.size() * sizeof(int32_t));
    at += ids.size() * sizeof(int32_t);
    body->lengths.push_back(static_cast<uint32_t>(ids.size()));
  }
  return {};
}

void EmbedOperation::answered(Result<worker::Frame> reply) {
  exchange_ = 0;
  sent_ = false;
  auto stream = std::move(stream_);
  if (ended()) return end({});  // drained
  if (reply.ok() && late()) reply = too_late();
  if (!reply.ok()) return end(model_->with_names(std::move(reply).status(), groups_[group_].rung));
  if (reply->type == worker::FrameType::kFailed) {
    Status failed;
    Status bad = worker::parse_failed(reply->body, &failed);
    if (bad.ok()) return end(model_->with_names(std::move(failed), groups_[group_].rung));
    lane_->driver().fault(model_, stream->generation(), bad);
    return end(
        model_->with_names(error(Code::kEngineCrashed, "the worker's reply was malformed: " + bad.message()),
                           groups_[group_].rung));
  }
  stream_ = stream;
  Status taken = take_rows(*reply);
  stream_.reset();
  if (!taken.ok()) {
    // L5.2: a reply that does not hold what was asked for is a fault of the channel.
    lane_->driver().fault(model_, stream->generation(), taken);
    return end(model_->with_names(
        error(Code::kEngineCrashed, "the worker's reply was not valid: " + taken.message()),
        groups_[group_].rung));
  }
  if (stream->note_served()) lane_->driver().note_service(*model_);
  Group& group = groups_[group_];
  group.done += chunk_;
  if (group.done < group.rows.size()) return exchange();
  const auto epoch = epoch_;
  epoch_ = 0;
  lane_->driver().release(model_, group.rung, epoch);
  ++group_;
  next_group();
}

Status EmbedOperation::take_rows(const worker::Frame& reply) {
  if (reply.type != worker::FrameType::kEmbedded)
    return error(Code::kProtocol, "an embed was answered with a frame of another kind");
  ANELANE_ASSIGN(const worker::EmbeddedBody body, worker::decode_embedded(reply.body));
  const uint32_t dim = model_->summary.dim;
  if (body.count != chunk_ || body.dim != dim)
    return error(Code::kProtocol, "asked for " + std::to_string(chunk_) + " × " + std::to_string(dim) +
                                      " floats, the reply says " + std::to_string(body.count) + " × " +
                                      std::to_string(body.dim));
  const Group& group = groups_[group_];
  const uint8_t* at = stream_->arena().data() + out_offset_;
  for (size_t i = 0; i < chunk_; ++i, at += dim * sizeof(float)) {
    const uint32_t row = group.rows[group.done + i];
    float* to = floats_.data() + static_cast<size_t>(row) * dim;
    std::memcpy(to, at, dim * sizeof(float));
    if (!std::all_of(to, to + dim, [](float f) { return std::isfinite(f); }))
      return error(Code::kProtocol, "row " + std::to_string(row) + " is not finite");
    item_codes_[row] = Code::kOk;
  }
  return {};
}

// Gives back what is held; the first end wins.
void EmbedOperation::end(Status status) {
  lane_->loop().cancel_timer(&deadline_timer_);
  if (epoch_ != 0 && exchange_ == 0) {
    const auto epoch = epoch_;
    epoch_ = 0;
    lane_->driver().release(model_, groups_[std::min(group_, groups_.size() - 1)].rung, epoch);
  }
  if (!ended()) {
    if (!status.ok())
      for (Code& code : item_codes_)
        if (code == Code::kPending) code = status.code();
    finish(std::move(status));
  }
}

void EmbedOperation::on_cancel() {
  const Status why = error(Code::kCancelled, "cancelled by the caller");
  if (ticket_ != 0) return lane_->driver().cancel(ticket_);
  if (exchange_ != 0 && !sent_ && model_->link && model_->link->withdraw(exchange_)) {
    exchange_ = 0;
    stream_.reset();
  }
  end(why);
}

// L5.4. While a ticket waits the scheduler answers at the deadline itself, with a prediction.
void EmbedOperation::on_deadline() {
  if (ticket_ != 0 || ended()) return;
  bool behind_compile = false;
  if (exchange_ != 0 && !sent_) {
    behind_compile = model_->link && model_->link->runs_admission();
    if (model_->link && model_->link->withdraw(exchange_)) {
      exchange_ = 0;
      stream_.reset();
    }
  }
  end(model_->with_names(
      behind_compile ? error(Code::kShapeCompiling, "the worker is compiling another shape; ask again")
                     : too_late(),
      groups_[std::min(group_, groups_.size() - 1)].rung));
}

}  // namespace anelane
