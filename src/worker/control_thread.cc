// States: watching → ending (STOP, the end of the control channel, or garbage on it) → done.
//
// Ending is polite: `stopping` is set and the stream is shut for reading, so that an idle engine thread wakes
// and a busy one stops at its next step. In a process that takes at most kExitAskMs; then the process goes
// whatever the engine is stuck in. In thread mode nothing can be forced, so nothing is.
//
// The owner's death is not polite: nobody is left to read an answer, and the lane stays locked while we live
// (L1.2), so _exit at once, also with unread requests in the stream and in the middle of a compile (L1.4).
#include "worker/control_thread.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "worker/descriptor_pairs.h"
#include "worker/frame_io.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

constexpr int kOwnerGone = 0;
constexpr int kForcedEnd = 3;

}  // namespace

Result<std::unique_ptr<ControlThread>> ControlThread::start(ControlEnds ends, Activity* activity) {
  ANELANE_ASSIGN(DescriptorPair pair, make_end_pipe());
  std::unique_ptr<ControlThread> control(new ControlThread(std::move(ends), activity, pair.ours.release()));
  control->done_signal_ = pair.theirs.release();
  ANELANE_ASSIGN(control->thread_, start_quiet_thread([raw = control.get()] { raw->watch(); }));
  return control;
}

ControlThread::~ControlThread() {
  done_signal_.reset();
  if (thread_.joinable()) thread_.join();
}

void ControlThread::watch() {
  for (;;) {
    std::array<pollfd, 3> entries{{{done_.get(), POLLIN, 0},
                                   {ends_.owner.get(), POLLIN, 0},
                                   {ends_.control.get(), POLLIN, 0}}};  // negative ones are passed over
    const int n =
        ::poll(entries.data(), entries.size(), forced_end_ns_ == 0 ? -1 : poll_timeout_ms(forced_end_ns_));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return;
    if (n > 0 && entries[1].revents != 0) ::_exit(kOwnerGone);
    if (n > 0 && entries[0].revents != 0) return;
    if (n > 0 && entries[2].revents != 0) serve_control();
    if (forced_end_ns_ != 0 && now_ns() >= forced_end_ns_) ::_exit(kForcedEnd);
  }
}

void ControlThread::serve_control() {
  std::array<uint8_t, 1024> chunk;
  const ssize_t n = ::recv(ends_.control.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (n > 0) {
    reader_.feed(std::span(chunk.data(), static_cast<size_t>(n)));
    if (take_frames()) return;
  }
  ask_end();
}

// False: the end was asked for, or what came cannot be understood.
bool ControlThread::take_frames() {
  for (;;) {
    Result<std::optional<Frame>> next = reader_.next();
    if (!next.ok()) {
      log_line(LogLevel::kError, "the control channel carries garbage, ending: " + next.status().message());
      return false;
    }
    if (!next->has_value()) return true;
    const Frame& frame = **next;
    if (frame.type == FrameType::kStop) return false;
    if (frame.type != FrameType::kPing) continue;
    PongBody pong;
    const uint64_t since = activity_->since_ns.load(std::memory_order_relaxed);
    pong.request = activity_->request.load(std::memory_order_relaxed);
    pong.steps = activity_->steps.load(std::memory_order_relaxed);
    const uint64_t now = now_ns();
    if (since != 0) pong.busy_ms = now > since ? (now - since) / 1'000'000 : 0;
    // Without waiting: an owner that does not read its answers does not need more of them.
    (void)send_frame(ends_.control.get(), {FrameType::kPong, frame.request, to_json(pong).dump()}, now);
  }
}

void ControlThread::ask_end() {
  ends_.control.reset();
  activity_->stopping.store(true, std::memory_order_relaxed);
  ::shutdown(ends_.stream, SHUT_RD);
  if (ends_.in_process) forced_end_ns_ = now_ns() + uint64_t{limits::kExitAskMs} * 1'000'000;
}

}  // namespace anelane::worker
