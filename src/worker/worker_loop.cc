// The life of a worker: INIT, then one request after the other, until STOP, the end of the stream or a
// request for the end on the control channel. The engine thread (the caller) reads the stream itself, so that
// a request wakes exactly one thread and costs no hop; everything that must work while the engine is stuck is
// on the control thread (control_thread.cc).
//
// A good end (STOP, end of stream, owner closed us) is OK. A stream that carries garbage is answered FAILED
// with request 0, as far as it still can be, and ends the worker: nothing after it can be trusted.
#include "worker/worker_loop.h"

#include <unistd.h>

#include "base/log.h"
#include "worker/activity.h"
#include "worker/control_thread.h"
#include "worker/fault_points.h"
#include "worker/frame_io.h"
#include "worker/protocol.h"
#include "worker/session.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

Status serve_stream(int stream, Session* session, const Activity& activity) {
  FrameReader reader;
  bool greeted = false;
  for (;;) {
    Result<Frame> frame = receive_frame(stream, &reader, kNoDeadline);
    if (activity.stopping.load(std::memory_order_relaxed)) return {};
    if (!frame.ok()) {
      if (frame.status().code() == Code::kEngineCrashed) return {};  // the host has closed its end
      (void)send_frame(stream, {FrameType::kFailed, 0, to_json(frame.status()).dump()}, kNoDeadline);
      return frame.status();
    }
    record_at_fault_point(*frame);
    if (frame->type == FrameType::kStop) return {};
    const Status status = greeted ? session->serve(*frame) : session->greet(*frame);
    if (status.code() == Code::kEngineCrashed && greeted) return {};  // the host did not wait for the reply
    ANELANE_TRY(status);
    greeted = true;
  }
}

Status serve_with_control(LoopEnds ends, bool in_process) {
  Activity activity;
  ControlEnds control_ends;
  control_ends.control = std::move(ends.control);
  control_ends.owner = std::move(ends.owner);
  control_ends.stream = ends.stream.get();
  control_ends.in_process = in_process;
  // Before the first byte is read: an owner that dies during INIT must not leave us behind.
  ANELANE_ASSIGN(const auto control, ControlThread::start(std::move(control_ends), &activity));
  // Gone before `control`: its programs are unloaded while the watch goes on, for an unload may get stuck as
  // well.
  Session session(ends.stream.get(), std::move(ends.arena), &activity);
  Status status = serve_stream(ends.stream.get(), &session, activity);
  end_at_fault_point(ends.stream.get());
  return status;
}

}  // namespace

Status run_worker_loop(LoopEnds ends, bool in_process) {
  const Status status = serve_with_control(std::move(ends), in_process);
  if (!status.ok()) log_line(LogLevel::kError, "worker: " + status.message());
  return status;
}

}  // namespace anelane::worker
