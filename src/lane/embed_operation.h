// A composed call (L5.1): sequences grouped by rung in ascending order; each group admits and leases its
// shape, makes its exchange, releases, and only then the next group asks. Results come back in the order of
// the input.
#pragma once
#include <memory>
#include <vector>

#include "lane/lane_model.h"
#include "lane/operation.h"

namespace anelane {

class EmbedOperation : public Operation {
 public:
  // Checks every sequence (L2.3) before anything is asked for. The ids are copied by the caller into `items`.
  static Result<std::shared_ptr<EmbedOperation>> make(std::shared_ptr<LaneModel> model,
                                                      std::vector<std::vector<int32_t>> items,
                                                      uint64_t deadline_ns);
  EmbedOperation(std::shared_ptr<LaneModel> model, std::vector<std::vector<int32_t>> items,
                 uint64_t deadline_ns);

  // After the end: rows × dim floats, and the status of each row.
  const std::vector<float>& floats() const { return floats_; }
  const std::vector<Code>& item_codes() const { return item_codes_; }
  size_t rows() const { return items_.size(); }
  uint32_t dim() const { return model_->summary.dim; }

 protected:
  void begin() override;
  void on_cancel() override;

 private:
  struct Group {
    uint32_t rung = 0;
    std::vector<uint32_t> rows;
    size_t done = 0;  // rows answered
  };
  void next_group();
  void leased(sched::SlotGate::Epoch epoch);
  void exchange();
  Status fill(WorkerStream& stream, worker::EmbedBody* body);
  void answered(Result<worker::Frame> reply);
  Status take_rows(const worker::Frame& reply);
  void end(Status status);
  void on_deadline();

  const std::shared_ptr<LaneModel> model_;
  const std::vector<std::vector<int32_t>> items_;
  std::vector<float> floats_;
  std::vector<Code> item_codes_;

  // ---- lane thread ----
  std::vector<Group> groups_;
  size_t group_ = 0;
  uint64_t ticket_ = 0;
  sched::SlotGate::Epoch epoch_ = 0;      // 0: no lease held
  std::shared_ptr<WorkerStream> stream_;  // of the exchange in flight
  uint64_t exchange_ = 0;                 // id at the link; 0: none
  bool sent_ = false;
  size_t chunk_ = 0;  // rows of the exchange in flight
  uint64_t out_offset_ = 0;
  LoopThread::TimerId deadline_timer_{};
};

}  // namespace anelane
