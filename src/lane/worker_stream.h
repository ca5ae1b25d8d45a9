// One life of a worker as its users see it: the handle, the arena, and the *permit* for the stream, which
// serves one exchange at a time. The permit is taken by a caller's own thread for a run
// when it is free, else by the lane thread, whose exchanges queue for it and go first.
//
//   free ──caller──► caller ──done──► free            (or loop, if the lane thread waits)
//        ──loop────► loop   ──done──► free
//   any ──fault──► broken: nobody gets it any more
//
// Bays of the arena: bay 0 goes with the permit; the others are lent to leases that map their ports, and stay
// lent while a run on them is in flight.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "scheduler/types.h"
#include "worker/arena.h"
#include "worker/protocol.h"
#include "worker/worker_handle.h"

namespace anelane {

class WorkerStream {
 public:
  WorkerStream(std::unique_ptr<worker::WorkerHandle> handle, std::shared_ptr<worker::Arena> arena,
               uint64_t bay_bytes, sched::Generation generation);

  worker::WorkerHandle& handle() { return *handle_; }
  worker::Arena& arena() { return *arena_; }
  sched::Generation generation() const { return generation_; }

  // ---- permit ----
  bool try_take_for_caller();
  // True: the caller has it. False: `wake` will be called (any thread) once it is the lane thread's turn.
  bool take_for_loop(std::function<void()> wake);
  // The lane thread no longer wants what it asked for.
  void forget_loop_request();
  void give_back();  // by whoever has it
  // Another number each time that a caller gets it; 0: no caller has it.
  uint64_t callers_turn() const;
  bool idle() const;
  // While set, `fn` is called (any thread) each time that a caller gives the permit back and nobody takes it:
  // the lane thread sees only its own exchanges end.
  void tell_idle(std::function<void()> fn);
  // Nobody gets it any more; wakes a caller that waits for a reply (end of stream).
  void break_off();
  bool broken() const;
  // An inference on it has ended well. True: it is the first.
  bool note_served() { return !served() && !served_.exchange(true, std::memory_order_relaxed); }
  bool served() const { return served_.load(std::memory_order_relaxed); }

  // ---- with the permit in hand ----
  uint64_t next_request_id() { return ++last_request_; }
  worker::FrameReader& reader() { return reader_; }

  // ---- bays ----
  uint64_t bay_bytes() const { return bay_bytes_; }
  uint64_t bay_offset(int32_t bay) const { return static_cast<uint64_t>(bay) * bay_bytes_; }
  int32_t borrow_bay();          // -1: all are lent
  bool hold_bay(int32_t bay);    // one more user of a lent bay
  void return_bay(int32_t bay);  // one user less

 private:
  enum class Holder { kNone, kCaller, kLoop };
  std::unique_ptr<worker::WorkerHandle> handle_;
  std::shared_ptr<worker::Arena> arena_;
  const uint64_t bay_bytes_;
  const sched::Generation generation_;
  worker::FrameReader reader_;  // owned by the permit
  uint64_t last_request_;       // owned by the permit; no two lives of a worker share a number
  std::atomic<bool> served_{false};

  mutable std::mutex mutex_;  // everything below
  Holder holder_ = Holder::kNone;
  uint64_t turns_ = 0;  // of callers
  bool broken_ = false;
  std::function<void()> loop_wake_, idle_wake_;
  std::vector<uint32_t> bay_users_;
};

}  // namespace anelane
