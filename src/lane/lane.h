// A running lane: the lock, the lane thread with its driver, the completion side, and everything in flight.
//
// States: open → closing (new calls get CLOSED, waiting ones are answered, workers end) → closed. A lane is
// shared by every open of the same lock path in this process and really closed by the last close. Threads:
// every public method may be called from any thread unless marked otherwise.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "lane/completions.h"
#include "lane/driver.h"
#include "lane/lane_lock.h"
#include "lane/loop_thread.h"
#include "lane/operation.h"
#include "lane/options.h"

namespace anelane {

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  // L1.1. Waits for the lock until the deadline. The same folder again: the same lane, counted.
  static Result<std::shared_ptr<Lane>> open(const LaneOptions& options, uint64_t deadline_ns);
  // One open less; the last one ends the lane (anelane_lane_close).
  Status close(uint64_t deadline_ns);
  ~Lane();

  uint64_t id() const { return id_; }
  const std::string& folder() const { return folder_; }
  const std::string& cache_folder() const { return cache_folder_; }
  const LaneOptions& options() const { return options_; }
  int lock_fd() const { return lock_.fd(); }
  const LaneRecord& record() const { return lock_.record(); }
  LoopThread& loop() { return *loop_; }
  Completions& completions() { return *completions_; }
  Driver& driver() { return *driver_; }  // lane thread
  Status closed_status() const;
  bool closing() const { return closing_.load(std::memory_order_acquire); }

  // Asks for cancellation and returns at once. Many at a time wake the lane thread once.
  void cancel(std::vector<std::shared_ptr<Operation>> ops);
  // Runs `task` on the lane thread and waits; CLOSED when there is none any more.
  Status on_lane_thread(const std::function<void()>& task);

  // ---- lane thread ----
  bool enter_operation(const std::shared_ptr<Operation>& op);  // false: the lane is closing
  void leave_operation(Operation* op);                         // any thread, once it has ended

  Lane(const LaneOptions& options, std::string folder, LaneLock lock);

 private:
  Status start();
  Status shut_down(uint64_t deadline_ns);

  const LaneOptions options_;
  const std::string folder_;
  const std::string cache_folder_;  // looked up once: the environment may change
  const uint64_t id_;
  LaneLock lock_;
  std::unique_ptr<Completions> completions_;
  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<Driver> driver_;
  std::mutex cancels_mutex_;
  std::vector<std::shared_ptr<Operation>> cancels_;  // asked for since the lane thread last looked
  std::atomic<bool> closing_{false};
  std::mutex operations_mutex_;
  std::unordered_map<Operation*, std::shared_ptr<Operation>> operations_;
  uint32_t opens_ = 1;  // guarded by the registry's mutex
  friend struct LaneRegistry;
};

}  // namespace anelane
