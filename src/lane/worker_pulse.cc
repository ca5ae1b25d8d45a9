#include "lane/worker_pulse.h"

#include <string>

#include "base/limits.h"

namespace anelane {
namespace {

Status given_up(const std::string& why) {
  return error(Code::kEngineCrashed, why);
}

std::string seconds(uint32_t questions) {
  return std::to_string(questions * limits::kPingEveryMs / 1000) + " s";
}

}  // namespace

void WorkerPulse::begin(uint64_t request, uint64_t timeout_ms, bool counts_steps) {
  request_ = request;
  timeout_ms_ = timeout_ms;
  counts_steps_ = counts_steps;
  first_ = last_ + 1;
  steps_ = 0;
  unanswered_ = unproven_ = without_step_ = 0;
}

void WorkerPulse::begin_of_caller() {
  begin(0, 0, false);
}

void WorkerPulse::answered(uint64_t ping, const worker::PongBody& pong) {
  if (ping < first_ || ping > last_) return;
  unanswered_ = 0;
  if (request_ == 0 || (pong.busy_ms > 0 && pong.request == request_)) unproven_ = 0;
  if (pong.steps != steps_) without_step_ = 0;
  steps_ = pong.steps;
}

Result<uint64_t> WorkerPulse::next_question() {
  if (unanswered_ >= limits::kPingsMissed)
    return given_up("it did not answer " + std::to_string(unanswered_) + " questions in " +
                    seconds(unanswered_) + ": its process is stopped, or gets no time to run");
  if (unproven_ >= limits::kPingsMissed)
    return given_up("it answers, but has not been at the request it was sent for " + seconds(unproven_));
  if (counts_steps_ && without_step_ >= limits::kStuckPings)
    return given_up("its engine has been stuck in one layer for " + seconds(without_step_));
  const uint64_t asked = last_ + 1 - first_;
  if (request_ != 0 && asked * limits::kPingEveryMs >= timeout_ms_)
    return given_up("it did not answer its request within " + std::to_string(timeout_ms_ / 1000) + " s");
  ++unanswered_;
  ++unproven_;
  ++without_step_;
  return ++last_;
}

}  // namespace anelane
