// Where the tensors lie: in the bay that the lease mapped, if it did, else in bay 0, which goes with the
// permit. So two leases never write to the same memory, and a plain run copies in and out while it holds the
// permit.
//
// Deadline on the caller's thread: the exchange is on the wire, so permit and pin move to the lane thread,
// which drains the reply (L5.3); the caller leaves at once.
#include "lane/run_operation.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "lane/lane.h"

namespace anelane {
namespace {

Status expired() {
  return error(
      Code::kLeaseExpired,
      "the lease has ended: it was released, not used for too long, or its shape is gone; take a new one");
}

Status too_late() {
  return error(Code::kDeadlineExceeded,
               "the run did not end before the deadline; its late result is dropped");
}

// A closing lane ends its workers too.
Status worker_ended(const PinnedRun& run) {
  if (run.model()->lane->closing()) return run.model()->lane->closed_status();
  return run.model()->with_names(error(Code::kEngineCrashed, "the worker ended; take a new lease"),
                                 run.rung());
}

worker::RunBody run_body(const PinnedRun& run) {
  worker::RunBody body;
  body.shape = run.shape();
  const uint64_t base = run.stream()->bay_offset(std::max(run.bay(), 0));
  for (const PortLayout& p : run.ports())
    (p.output ? body.out_offsets : body.in_offsets).push_back(base + p.bay_offset);
  return body;
}

uint8_t* port_memory(const PinnedRun& run, uint32_t port) {
  return run.stream()->arena().data() + run.stream()->bay_offset(std::max(run.bay(), 0)) +
         run.ports()[port].bay_offset;
}

void copy_in(const PinnedRun& run, const std::vector<RunTensor>& in) {
  for (const RunTensor& t : in)
    if (t.data != nullptr && t.data != port_memory(run, t.port))
      std::memcpy(port_memory(run, t.port), t.data, t.bytes);
}

void copy_out(const PinnedRun& run, const std::vector<RunTensor>& out) {
  for (const RunTensor& t : out)
    if (t.data != nullptr && t.data != port_memory(run, t.port))
      std::memcpy(t.data, port_memory(run, t.port), t.bytes);
}

// RAN → OK, FAILED → the worker's error, anything else → PROTOCOL (a fault).
Status judge(const worker::Frame& reply, bool* fault) {
  *fault = false;
  if (reply.type == worker::FrameType::kRan) return {};
  Status failed;
  if (reply.type == worker::FrameType::kFailed && worker::parse_failed(reply.body, &failed).ok())
    return failed;
  *fault = true;
  return error(Code::kEngineCrashed, "the worker answered a run with a frame that does not fit");
}

// Its time-out counts waits, not time, as the lane thread's does (worker_pulse.h): a host that was stopped
// together with its worker has not waited.
Result<worker::Frame> receive_reply(WorkerStream& stream, uint64_t deadline_ns) {
  for (uint64_t left_ms = limits::kInferExchangeMs;; left_ms -= limits::kPingEveryMs) {
    const uint64_t bound = std::min(deadline_ns, now_ns() + limits::kPingEveryMs * 1'000'000);
    Result<worker::Frame> reply = worker::receive_frame(stream.handle().stream_fd(), &stream.reader(), bound);
    if (reply.ok() || reply.status().code() != Code::kDeadlineExceeded || bound == deadline_ns ||
        left_ms == 0)
      return reply;
  }
}

}  // namespace

Result<std::shared_ptr<PinnedRun>> PinnedRun::make(const LeaseId& lease) {
  ModelCore* core = core_at(lease.core);
  if (core == nullptr || lease.rung >= limits::kMaxRungs)
    return error(Code::kBadHandle, "this is not a lease of this library");
  LeaseBook::Record* record = core->leases[lease.rung].find(lease.record, lease.generation);
  if (record == nullptr) return expired();
  const sched::SlotGate::Epoch epoch = record->epoch.load(std::memory_order_relaxed);
  record->tick.store(core->tick.load(std::memory_order_relaxed), std::memory_order_relaxed);
  std::shared_ptr<PinnedRun> run(new PinnedRun);
  run->model_ = core->lock_model();
  if (!run->model_) return expired();
  run->rung_ = lease.rung;
  run->stream_ = run->model_->stream();
  // Pin, then look at the record again: it may have been given back between the two looks.
  if (!core->gates[lease.rung].lease_more(epoch)) return expired();
  run->epoch_ = epoch;
  if (core->leases[lease.rung].find(lease.record, lease.generation) == nullptr) return expired();
  if (!run->stream_) return worker_ended(*run);
  const int32_t bay = record->bay_of(lease.generation);
  if (bay >= 0 && run->stream_->hold_bay(bay)) run->bay_ = bay;
  run->ports_ = port_layouts(run->model_->summary, run->shape());
  return run;
}

PinnedRun::~PinnedRun() {
  if (bay_ >= 0) stream_->return_bay(bay_);
  if (epoch_ == 0) return;
  if (model_->core->gates[rung_].release(epoch_, model_->core->coarse_now)) {
    auto model = model_;
    const uint32_t rung = rung_;
    model->lane->loop().post([model, rung] { model->lane->driver().released(model, rung); });
  }
}

Status check_tensors(const PinnedRun& run, const std::vector<RunTensor>& in,
                     const std::vector<RunTensor>& out) {
  const auto& ports = run.ports();
  std::vector<bool> seen(ports.size(), false);
  const auto check = [&](const RunTensor& t, bool output) -> Status {
    const char* side = output ? "output" : "input";
    if (t.port >= ports.size() || ports[t.port].output != output)
      return error(Code::kInvalidArgument, std::string("port ") + std::to_string(t.port) + " is not an " +
                                               side + " of this model; ask anelane_model_ports");
    if (seen[t.port])
      return error(Code::kInvalidArgument,
                   std::string(side) + " port " + std::to_string(t.port) + " is given twice");
    seen[t.port] = true;
    if (t.data == nullptr && run.bay() < 0)
      return error(Code::kInvalidArgument,
                   std::string(side) + " port " + std::to_string(t.port) +
                       " has no data and this lease has no mapped ports (anelane_lease_map)");
    if (t.data != nullptr && t.bytes != ports[t.port].bytes)
      return error(Code::kInvalidArgument, std::string(side) + " port " + std::to_string(t.port) + " (" +
                                               ports[t.port].name + ") takes " +
                                               std::to_string(ports[t.port].bytes) + " bytes, " +
                                               std::to_string(t.bytes) + " are given")
          .with_limit(ports[t.port].bytes);
    return {};
  };
  for (const RunTensor& t : in) ANELANE_TRY(check(t, false));
  for (const RunTensor& t : out) ANELANE_TRY(check(t, true));
  for (size_t i = 0; i < ports.size(); ++i)
    if (!ports[i].output && !seen[i])
      return error(Code::kInvalidArgument,
                   "input port " + std::to_string(i) + " (" + ports[i].name + ") is not given");
  return {};
}

Result<RunTensor> map_port(const LeaseId& lease, uint32_t port) {
  ANELANE_ASSIGN(const std::shared_ptr<PinnedRun> run, PinnedRun::make(lease));
  if (port >= run->ports().size())
    return error(Code::kInvalidArgument, "there are " + std::to_string(run->ports().size()) +
                                             " ports, port " + std::to_string(port) + " is asked for");
  int32_t bay = run->bay();
  if (bay < 0) {
    bay = run->stream()->borrow_bay();
    if (bay < 0)
      return error(
          Code::kResourcesExhausted,
          "too many leases of this model have their ports mapped; release one, or run on your own memory");
    LeaseBook& book = run->model()->core->leases[run->rung()];
    LeaseBook::Record* record = book.find(lease.record, lease.generation);
    if (record == nullptr || !record->set_bay(lease.generation, bay)) {
      run->stream()->return_bay(bay);
      bay = record != nullptr ? record->bay_of(lease.generation) : -1;  // another thread mapped just now
      if (bay < 0) return expired();
    }
  }
  uint8_t* data =
      run->stream()->arena().data() + run->stream()->bay_offset(bay) + run->ports()[port].bay_offset;
  return RunTensor{data, run->ports()[port].bytes, port};
}

Status run_here(const std::shared_ptr<PinnedRun>& run, const std::vector<RunTensor>& in,
                const std::vector<RunTensor>& out, uint64_t deadline_ns) {
  WorkerStream& stream = *run->stream();
  if (!stream.try_take_for_caller()) {
    if (stream.broken()) return worker_ended(*run);
    auto op = std::make_shared<RunOperation>(run, in, false, deadline_ns);
    if (!op->start()) return run->model()->lane->closed_status();
    op->wait(UINT64_MAX);  // its own deadline ends it
    if (!op->status().ok()) return op->status();
    for (const RunTensor& t : out)
      if (t.data != nullptr) std::memcpy(t.data, op->output(t.port)->data(), t.bytes);
    return {};
  }
  if (!run->still_valid()) {
    stream.give_back();
    return expired();
  }
  if (now_ns() >= deadline_ns) {
    stream.give_back();
    return run->model()->with_names(too_late(), run->rung());
  }
  copy_in(*run, in);
  worker::Frame frame;
  frame.type = worker::FrameType::kRun;
  frame.request = stream.next_request_id();
  frame.body = worker::encode(run_body(*run));
  Status sent = worker::send_frame(stream.handle().stream_fd(), frame,
                                   std::min(deadline_ns, now_ns() + limits::kInferExchangeMs * 1'000'000));
  Result<worker::Frame> reply = sent.ok() ? receive_reply(stream, deadline_ns) : Result<worker::Frame>(sent);
  auto model = run->model();
  if (sent.ok() && !reply.ok() && reply.status().code() == Code::kDeadlineExceeded &&
      now_ns() >= deadline_ns) {
    model->lane->loop().post([run, model, request = frame.request] {
      if (model->link && model->link->stream() == run->stream())
        model->link->adopt(request, limits::kInferExchangeMs, [run](Result<worker::Frame>) {});
    });
    return model->with_names(too_late(), run->rung());
  }
  bool fault = !reply.ok() || reply->request != frame.request;
  Status status = fault ? error(Code::kEngineCrashed,
                                "the worker broke off during the run; it may or may not have executed")
                        : judge(*reply, &fault);
  if (status.ok()) copy_out(*run, out);
  stream.give_back();
  if (status.ok() && stream.note_served())
    model->lane->loop().post([model] { model->lane->driver().note_service(*model); });
  // Waited for: what the caller does next, be it to leave, comes after what the lane makes of it.
  if (fault)
    model->lane->loop().run([&] { model->lane->driver().fault(model, stream.generation(), status); });
  if (fault && model->lane->closing()) return model->lane->closed_status();
  return model->with_names(std::move(status), run->rung());
}

RunOperation::RunOperation(std::shared_ptr<PinnedRun> run, std::vector<RunTensor> in, bool own_inputs,
                           uint64_t deadline_ns)
    : Operation(run->model()->lane, deadline_ns),
      run_(std::move(run)),
      ports_(run_->ports()),
      in_(std::move(in)) {
  outputs_.resize(ports_.size());
  if (!own_inputs) return;
  for (RunTensor& t : in_) {
    if (t.data == nullptr) continue;
    const auto* bytes = static_cast<const uint8_t*>(t.data);
    owned_.emplace_back(bytes, bytes + t.bytes);
    t.data = owned_.back().data();
  }
}

const std::vector<uint8_t>* RunOperation::output(uint32_t port) const {
  return port < outputs_.size() && ports_[port].output ? &outputs_[port] : nullptr;
}

void RunOperation::begin() {
  auto self = std::static_pointer_cast<RunOperation>(shared_from_this());
  WorkerLink* link = run_->model()->link.get();
  if (link == nullptr || link->stream() != run_->stream())
    return end(error(Code::kEngineCrashed, "the worker ended; take a new lease"));
  if (deadline_ns() != UINT64_MAX) {
    deadline_timer_ = lane_->loop().add_timer(std::max<uint64_t>(deadline_ns(), 1), [self] {
      self->deadline_timer_ = {};
      const auto& busy = self->run_->model()->link;
      const bool compiling = !self->sent_ && busy && busy->runs_admission();
      self->leave_early(compiling
                            ? error(Code::kShapeCompiling, "the worker is compiling another shape; ask again")
                            : too_late());
    });
  }
  WorkerLink::Exchange x;
  x.frame.type = worker::FrameType::kRun;
  x.frame.body = worker::encode(run_body(*run_));
  x.timeout_ms = limits::kInferExchangeMs;
  x.lease_mask = 1u << run_->rung();
  x.prepare = [self]() -> Status {
    if (!self->run_->still_valid()) return expired();
    if (self->late()) return too_late();
    copy_in(*self->run_, self->in_);
    return {};
  };
  x.sent = [self] { self->sent_ = true; };
  x.done = [self](Result<worker::Frame> reply) { self->answered(std::move(reply)); };
  exchange_ = link->submit(std::move(x));
}

void RunOperation::answered(Result<worker::Frame> reply) {
  if (ended()) {  // drained, or the lane is closing
    lane_->loop().cancel_timer(&deadline_timer_);
    run_.reset();
    return;
  }
  if (reply.ok() && late()) reply = too_late();
  if (!reply.ok()) return end(std::move(reply).status());
  bool fault = false;
  Status status = judge(*reply, &fault);
  if (fault) lane_->driver().fault(run_->model(), run_->stream()->generation(), status);
  if (status.ok()) {
    if (run_->stream()->note_served()) lane_->driver().note_service(*run_->model());
    for (uint32_t i = 0; i < ports_.size(); ++i) {
      if (!ports_[i].output) continue;
      const uint8_t* from = port_memory(*run_, i);
      outputs_[i].assign(from, from + ports_[i].bytes);
    }
  }
  end(std::move(status));
}

void RunOperation::end(Status status) {
  lane_->loop().cancel_timer(&deadline_timer_);
  const auto run = std::move(run_);
  run_.reset();
  finish(run->model()->with_names(std::move(status), run->rung()));
}

void RunOperation::leave_early(Status why) {
  const auto& link = run_->model()->link;
  if (!sent_ && link && link->withdraw(exchange_)) return end(std::move(why));
  lane_->loop().cancel_timer(&deadline_timer_);
  finish(run_->model()->with_names(std::move(why), run_->rung()));  // the reply is still to be drained
}

void RunOperation::on_cancel() {
  leave_early(error(Code::kCancelled, "cancelled by the caller"));
}

}  // namespace anelane
