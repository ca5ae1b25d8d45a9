// Fault points: what a worker can be told to do wrong, for the tests of those who must live with it. Compiled
// in with ANELANE_FAULT_POINTS only; in any other build the two functions below are what they stand for, and
// nothing of this is left.
//
//   ANELANE_WORKER_FAULT=POINT:FAULT[:FILE]
//
// POINT is where it happens: hello, load, admit, progress, evict, embed, run (instead of, or around, the
// frame sent there) or stop (the end of the stream was seen). With FILE the fault happens once: it takes the
// file away, and without the file the worker is a good one. So one file means one fault, however many workers
// are started ("refuse" leaves the file, and refuses for as long as it is there).
//
//   die             is killed before it answers          old_request     answers the request before
//   late            answers after kLateMs                old_generation  answers another life's request
//   stall           never answers; the control thread    half_frame      sends half of the answer, no more
//                   goes on                              garbage         sends what is no frame
//   freeze          the process stops (SIGSTOP)          oversized       announces more than a frame may hold
//   twice           answers twice                        lose            sends nothing and goes on
//   deaf            answers well and hears no more: what is sent to it fails at the sender
//   refuse          answers RESOURCES_EXHAUSTED
//
//   ANELANE_WORKER_RECORD=FILE
//
// Each frame that the worker takes from its stream or puts there becomes a line of FILE: "in" or "out", type,
// request id, bytes on the wire, and the body of LOAD.
#pragma once
#include "base/status.h"
#include "worker/frame_io.h"
#include "worker/protocol.h"
#include "worker/worker_handle.h"

namespace anelane::worker {

// What stands after the last request.
inline constexpr FrameType kAtStop = FrameType::kStop;

#ifdef ANELANE_FAULT_POINTS
// Sends a reply, or what the fault makes of it.
Status send_at_fault_point(int stream, const Frame& reply);
// The worker is about to end in good order.
void end_at_fault_point(int stream);
void record_at_fault_point(const Frame& request);
#else
inline Status send_at_fault_point(int stream, const Frame& reply) {
  return send_frame(stream, reply, kNoDeadline);
}
inline void end_at_fault_point(int) {}
inline void record_at_fault_point(const Frame&) {}
#endif

}  // namespace anelane::worker
