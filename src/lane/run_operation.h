// One evaluation on the caller's own tensors (anelane_run). Where the stream is free the exchange is made on
// the caller's own thread; otherwise, and for start_run, it queues on the lane thread.
#pragma once
#include <memory>
#include <vector>

#include "lane/lane_model.h"
#include "lane/lease_operation.h"
#include "lane/operation.h"
#include "lane/port_layout.h"

namespace anelane {

// What a run needs of its lease, checked and pinned. The pin lasts as long as this lives.
class PinnedRun {
 public:
  // BAD_HANDLE, LEASE_EXPIRED, ENGINE_CRASHED.
  static Result<std::shared_ptr<PinnedRun>> make(const LeaseId& lease);
  ~PinnedRun();
  PinnedRun(const PinnedRun&) = delete;
  PinnedRun& operator=(const PinnedRun&) = delete;

  const std::shared_ptr<LaneModel>& model() const { return model_; }
  const std::shared_ptr<WorkerStream>& stream() const { return stream_; }
  uint32_t rung() const { return rung_; }
  uint32_t shape() const { return model_->summary.ladder[rung_]; }
  const std::vector<PortLayout>& ports() const { return ports_; }
  int32_t bay() const { return bay_; }  // of the lease's mapped ports; -1: none
  bool still_valid() const { return model_->core->gates[rung_].valid(epoch_); }

 private:
  PinnedRun() = default;
  std::shared_ptr<LaneModel> model_;
  std::shared_ptr<WorkerStream> stream_;
  std::vector<PortLayout> ports_;
  uint32_t rung_ = 0;
  sched::SlotGate::Epoch epoch_ = 0;
  int32_t bay_ = -1;
};

// A caller's tensor: data null means the mapped port.
struct RunTensor {
  void* data = nullptr;
  uint64_t bytes = 0;
  uint32_t port = 0;
};

// Every input port once, output ports at most once, sizes as the port's.
Status check_tensors(const PinnedRun& run, const std::vector<RunTensor>& in,
                     const std::vector<RunTensor>& out);
// The arena address of a port of this lease, for zero-copy runs (anelane_lease_map).
Result<RunTensor> map_port(const LeaseId& lease, uint32_t port);

// Blocking form.
Status run_here(const std::shared_ptr<PinnedRun>& run, const std::vector<RunTensor>& in,
                const std::vector<RunTensor>& out, uint64_t deadline_ns);

class RunOperation : public Operation {
 public:
  // With `own_inputs` the inputs are copied now (asynchronous form).
  RunOperation(std::shared_ptr<PinnedRun> run, std::vector<RunTensor> in, bool own_inputs,
               uint64_t deadline_ns);
  // After a good end: all outputs, one after the other in port order.
  const std::vector<uint8_t>* output(uint32_t port) const;

 protected:
  void begin() override;
  void on_cancel() override;

 private:
  void answered(Result<worker::Frame> reply);
  void leave_early(Status why);
  void end(Status status);

  std::shared_ptr<PinnedRun> run_;  // null once nothing of it is in flight: the pin must not outlast the run
  const std::vector<PortLayout> ports_;
  std::vector<RunTensor> in_;
  std::vector<std::vector<uint8_t>> owned_, outputs_;
  uint64_t exchange_ = 0;  // lane thread
  bool sent_ = false;
  LoopThread::TimerId deadline_timer_{};
};

}  // namespace anelane
