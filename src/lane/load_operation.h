// anelane_model_load: a thread of its own reads the headers and, if they are good, starts the worker, which
// loads the folder. Nothing of it happens on the caller's thread or the lane's: texts may be large.
#pragma once
#include <memory>

#include "lane/lane_model.h"
#include "lane/operation.h"

namespace anelane {

class LoadOperation : public Operation {
 public:
  // Reads nothing yet.
  static std::shared_ptr<LoadOperation> make(std::shared_ptr<Lane> lane, const std::string& folder,
                                             const ModelOptions& options, uint64_t deadline_ns);
  // A program model from memory: the pack is kept for replacements.
  static std::shared_ptr<LoadOperation> make_packed(std::shared_ptr<Lane> lane,
                                                    std::shared_ptr<const std::string> pack,
                                                    const ModelOptions& options, uint64_t deadline_ns);
  LoadOperation(std::shared_ptr<LaneModel> model, uint64_t deadline_ns);

  // The loaded model, once; nullptr before a good end or when it was taken.
  std::shared_ptr<LaneModel> take();
  void abandon() override;
  void on_close() override;

 protected:
  void begin() override;
  void on_cancel() override;

 private:
  void drop(Status why);

  std::mutex mutex_;
  std::shared_ptr<LaneModel> model_;  // guarded by mutex_
  bool ready_ = false, taken_ = false, abandoned_ = false;
  LoopThread::TimerId deadline_timer_{};
};

}  // namespace anelane
