// Is a worker still at the exchange that it was sent? While one runs the lane asks on the control channel
// every kPingEveryMs, and judges by what is answered. Pure: it has no clock and does no I/O; its owner says
// that the time for the next question has come.
//
// What counts are questions, not time: a host that was stopped together with its worker, or gets no time to
// run, asks one late question when it goes on, and nobody is blamed for the time between. That goes for the
// time-out of the exchange as well.
//
//   at work     an answer says that the engine thread is busy, with this request
//   silent      kPingsMissed questions in a row without any answer: the process is stopped, or starved
//   elsewhere   as many without one that says "at work": the request or its reply was lost
//   stuck       answers come, but no step was done for kStuckPings questions (only where steps are known to
//               be short: a compile may be one long step, and is left to the time-out)
//   too long    the time-out: so many questions as are asked in it
#pragma once
#include <cstdint>

#include "base/status.h"
#include "worker/protocol.h"

namespace anelane {

class WorkerPulse {
 public:
  // An exchange was sent.
  void begin(uint64_t request, uint64_t timeout_ms, bool counts_steps);
  // One of a caller's own thread, which may take the stream long before it sends and read the reply late, and
  // has its own time-out: only silence is judged.
  void begin_of_caller();
  // The answer to question number `ping`; one that was asked for another exchange says nothing.
  void answered(uint64_t ping, const worker::PongBody& pong);
  // The number of the next question; an error (ENGINE_CRASHED): there is no hope, and this is why.
  Result<uint64_t> next_question();

 private:
  uint64_t request_ = 0, timeout_ms_ = 0, steps_ = 0;  // request_ 0: a caller's
  bool counts_steps_ = false;
  uint64_t first_ = 1, last_ = 0;  // question numbers, unique for the worker's life; of this exchange
  // Questions since the last answer, the last one of "at work", the last new step.
  uint32_t unanswered_ = 0, unproven_ = 0, without_step_ = 0;
};

}  // namespace anelane
