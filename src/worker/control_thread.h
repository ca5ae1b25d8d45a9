// The second thread of a worker: answers PING while the engine thread is stuck, carries STOP, and watches for
// the owner's death. It sleeps in poll; an idle worker costs nothing.
#pragma once
#include <thread>

#include "base/file.h"
#include "base/status.h"
#include "worker/activity.h"
#include "worker/protocol.h"

namespace anelane::worker {

struct ControlEnds {
  UniqueFd control;
  UniqueFd owner;   // invalid in thread mode
  int stream = -1;  // shut down for reading when the end is asked for, which wakes an idle engine thread
  bool in_process = false;
};

class ControlThread {
 public:
  // `activity` must outlive it.
  static Result<std::unique_ptr<ControlThread>> start(ControlEnds ends, Activity* activity);
  ~ControlThread();  // the engine thread is done: ends it at once
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

 private:
  ControlThread(ControlEnds ends, Activity* activity, UniqueFd done)
      : ends_(std::move(ends)), activity_(activity), done_(std::move(done)) {}
  void watch();
  void serve_control();
  bool take_frames();
  void ask_end();

  ControlEnds ends_;
  Activity* activity_;
  UniqueFd done_;         // readable once the destructor has begun
  UniqueFd done_signal_;  // its other end
  FrameReader reader_;
  uint64_t forced_end_ns_ = 0;  // 0: nobody has asked for the end
  std::thread thread_;
};

}  // namespace anelane::worker
