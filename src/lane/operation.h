// One thing that a caller asked for: its state, its result, its waiters. Every public call that may take
// time is one of these; the blocking form starts it, waits, and drops it.
//
// States: running → ended, exactly once. The status and results are written before `ended` and never change
// after. cancel() only asks; the lane thread decides.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "lane/loop_thread.h"

namespace anelane {

class Lane;

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  using DoneFn = std::function<void(uint64_t op_bits, int32_t status)>;

  explicit Operation(std::shared_ptr<Lane> lane, uint64_t deadline_ns);
  virtual ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // How the end is told, besides wait(): `fn` on the completion thread, or (an empty fn) the
  // queue of next_completion. Before start().
  void announce(DoneFn fn, void* user, uint64_t op_bits);

  // Hands it to the lane thread. False: the lane thread has ended; the operation never began, will not end
  // and nothing is announced.
  bool start();
  // Any thread but the lane's. True: ended.
  bool wait(uint64_t deadline_ns);
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  const Status& status() const { return status_; }  // after ended()

  uint64_t deadline_ns() const { return deadline_ns_; }
  // A timer says so too, but a reply may be read first: whoever sends or takes one asks.
  bool late() const;
  uint64_t bits() const { return bits_; }
  void* user() const { return user_; }
  const std::shared_ptr<Lane>& lane() const { return lane_; }
  // The handle was dropped: no event loop will ask for its end any more.
  void drop();
  // The handle was dropped: results that nobody took go back (a lease is released, a model retired).
  virtual void abandon() {}

  // ---- completion thread ----
  void tell() const { fn_(bits_, static_cast<int32_t>(status_.code())); }

  // ---- lane thread ----
  // One that has not begun yet ends as soon as it begins.
  void cancel_now();
  // The lane is being closed: end at once.
  virtual void on_close();

 protected:
  virtual void begin() = 0;      // first step
  virtual void on_cancel() = 0;  // end CANCELLED if that is possible; also called for deadlines by some
  void finish(Status status);    // no-op when it has ended

  std::shared_ptr<Lane> lane_;

 private:
  const uint64_t deadline_ns_;
  DoneFn fn_;
  void* user_ = nullptr;
  uint64_t bits_ = 0;
  bool announced_ = false;
  bool begun_ = false, unwanted_ = false;  // lane thread

  std::mutex mutex_;
  std::condition_variable ended_cv_;
  std::atomic<bool> ended_{false};
  bool dropped_ = false;  // guarded by mutex_
  uint64_t queued_ = 0;   // guarded by mutex_; number in the completion queue
  Status status_;
};

}  // namespace anelane
