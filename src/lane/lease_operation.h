// anelane_lease_acquire and anelane_admit, where the fast path could not serve; anelane_model_retire.
#pragma once
#include <memory>

#include "lane/lane_model.h"
#include "lane/lease_fast_path.h"
#include "lane/operation.h"

namespace anelane {

class LeaseOperation : public Operation {
 public:
  LeaseOperation(std::shared_ptr<LaneModel> model, uint32_t rung, bool pin, uint64_t deadline_ns);
  // The lease, once, after a good end.
  bool take(LeaseId* out);
  void abandon() override;

 protected:
  void begin() override;
  void on_cancel() override;

 private:
  std::shared_ptr<LaneModel> model_;
  const uint32_t rung_;
  const bool pin_;
  uint64_t ticket_ = 0;  // lane thread
  std::mutex mutex_;
  LeaseId lease_;
  bool have_ = false, abandoned_ = false;
};

class RetireOperation : public Operation {
 public:
  RetireOperation(std::shared_ptr<LaneModel> model, uint64_t deadline_ns);

 protected:
  void begin() override;
  void on_cancel() override;

 private:
  std::shared_ptr<LaneModel> model_;
  LoopThread::TimerId deadline_timer_{};
};

}  // namespace anelane
