// One exchange runs at a time (`running_`), and only with the stream's permit. The stream is watched only
// while an exchange of ours runs: an idle lane makes no wake-ups, and the end of an idle worker is seen at
// its exit handle. After fail() every queued exchange has been told, so a caller never waits on a dead
// worker.
//
// What runs is looked after by one timer (`look_`): at each look the worker is asked over the control channel
// whether it is still there, and judged (worker_pulse.h). Nothing runs: no timer.
#include "lane/worker_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/frame_io.h"

namespace anelane {
namespace {

constexpr uint32_t kLogLinesPerSecond = 200;
constexpr uint64_t kNsPerMs = 1'000'000;

#ifdef __APPLE__
// SO_NOSIGPIPE is set on the socket; the flag is newer than the oldest system that is served.
constexpr int kNoSignal = 0;
#else
constexpr int kNoSignal = MSG_NOSIGNAL;
#endif

// Whether and when another worker is started is the scheduler's to decide: nothing here promises one.
//
// However the channel broke, the caller is told the same: its request may have run, and may be sent again.
Status broke_off(const Status& why) {
  return error(Code::kEngineCrashed,
               "the worker of this model broke off before it answered; ask again. Why: " + why.message());
}

// One whose request was not sent.
Status not_sent() {
  return error(Code::kEngineCrashed, "the worker of this model ended before this was sent to it; ask again");
}

Status stream_ended() {
  return error(Code::kEngineCrashed, "it closed its stream");
}

}  // namespace

WorkerLink::WorkerLink(LoopThread* loop, std::shared_ptr<WorkerStream> stream, Events events)
    : loop_(loop), stream_(std::move(stream)), events_(std::move(events)) {}

WorkerLink::~WorkerLink() {
  close();
}

Result<std::shared_ptr<WorkerLink>> WorkerLink::open(LoopThread* loop, std::shared_ptr<WorkerStream> stream,
                                                     Events events) {
  auto link = std::make_shared<WorkerLink>(loop, std::move(stream), std::move(events));
  worker::WorkerHandle& handle = link->stream_->handle();
  ANELANE_TRY(link->stream_watch_.open(loop, handle.stream_fd()));
  ANELANE_TRY(link->exit_watch_.open(loop, handle.exit_fd()));
  link->exit_watch_.start(UV_READABLE, [raw = link.get()](int) { raw->on_exit(); });
  if (handle.log_fd() >= 0) {
    ANELANE_TRY(link->log_watch_.open(loop, handle.log_fd()));
    link->log_watch_.start(UV_READABLE, [raw = link.get()](int) { raw->on_log(); });
  }
  return link;
}

void WorkerLink::close() {
  if (closed_) return;
  closed_ = true;
  loop_->cancel_timer(&look_);
  loop_->cancel_timer(&kill_timer_);
  stream_watch_.close();
  exit_watch_.close();
  log_watch_.close();
  if (!faulted_) stream_->break_off();
  events_ = {};
}

uint64_t WorkerLink::submit(Exchange exchange) {
  const uint64_t id = ++last_id_;
  if (faulted_ || ending_ || closed_) {
    exchange.done(not_sent());
    return id;
  }
  queue_.emplace_back(id, std::move(exchange));
  pump();
  return id;
}

bool WorkerLink::withdraw(uint64_t id) {
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    if (it->first != id) continue;
    queue_.erase(it);
    if (queue_.empty() && waiting_for_permit_) {
      stream_->forget_loop_request();
      waiting_for_permit_ = false;
    }
    return true;
  }
  return false;
}

uint32_t WorkerLink::leases_behind_admission() const {
  uint32_t mask = 0;
  if (runs_admission())
    for (const auto& [id, exchange] : queue_) mask |= exchange.lease_mask;
  return mask;
}

void WorkerLink::pump() {
  while (!running_ && !queue_.empty() && !faulted_ && !ending_) {
    if (waiting_for_permit_) return;
    std::weak_ptr<WorkerLink> weak = weak_from_this();
    const bool mine = stream_->take_for_loop([loop = loop_, weak] {
      loop->post([weak] {
        if (auto self = weak.lock()) {
          self->waiting_for_permit_ = false;
          self->pump();
        }
      });
    });
    if (!mine) {
      waiting_for_permit_ = true;
      return;
    }
    send_front();
  }
}

void WorkerLink::send_front() {
  auto running = std::make_unique<Running>();
  running->id = queue_.front().first;
  running->exchange = std::move(queue_.front().second);
  queue_.pop_front();
  if (running->exchange.prepare) {
    if (Status ready = running->exchange.prepare(); !ready.ok()) {
      stream_->give_back();
      running->exchange.done(std::move(ready));
      return;
    }
  }
  if (running->exchange.make_body) running->exchange.frame.body = running->exchange.make_body();
  running->request = stream_->next_request_id();
  running->exchange.frame.request = running->request;
  running->outbox = worker::encode_frame(running->exchange.frame);
  running_ = std::move(running);
  begin_watch();
  if (!flush()) return;
  stream_watch_.start(running_->outbox.empty() ? UV_READABLE : (UV_READABLE | UV_WRITABLE),
                      [this](int events) { on_stream(events); });
  if (running_->exchange.sent) running_->exchange.sent();
}

// False: the link failed.
bool WorkerLink::flush() {
  Running& run = *running_;
  while (run.written < run.outbox.size()) {
    const ssize_t n = ::send(stream_->handle().stream_fd(), run.outbox.data() + run.written,
                             run.outbox.size() - run.written, kNoSignal | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n < 0) {
      lose();
      return false;
    }
    run.written += static_cast<size_t>(n);
  }
  run.outbox.clear();
  run.written = 0;
  return true;
}

void WorkerLink::on_stream(int events) {
  auto self = shared_from_this();  // a callback may drop the last reference
  if (!running_) return;
  if ((events & UV_WRITABLE) != 0 && !running_->outbox.empty()) {
    if (!flush()) return;
    if (running_->outbox.empty()) stream_watch_.start(UV_READABLE, [this](int e) { on_stream(e); });
  }
  uint8_t buffer[65536];
  while (running_ && !faulted_) {
    Result<std::optional<worker::Frame>> frame = stream_->reader().next();
    if (!frame.ok()) return fail(std::move(frame).status());
    if (frame->has_value()) {
      on_frame(std::move(**frame));
      continue;
    }
    const ssize_t n = ::recv(stream_->handle().stream_fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return lose();
    stream_->reader().feed({buffer, static_cast<size_t>(n)});
  }
}

void WorkerLink::on_frame(worker::Frame frame) {
  // L5.2: whatever does not belong to the running request is a fault of the channel.
  if (frame.request != running_->request)
    return fail(error(Code::kProtocol, "the worker answered request " + std::to_string(frame.request) +
                                           " while " + std::to_string(running_->request) + " was asked"));
  if (frame.type == worker::FrameType::kProgress) {
    if (running_->exchange.progress) running_->exchange.progress(frame);
    return;
  }
  finish_running(std::move(frame));
}

void WorkerLink::finish_running(Result<worker::Frame> reply) {
  loop_->cancel_timer(&look_);
  stream_watch_.stop();
  std::unique_ptr<Running> run = std::move(running_);
  if (!faulted_) stream_->give_back();
  run->exchange.done(std::move(reply));
  pump();
  if (!running_ && queue_.empty() && events_.idle) events_.idle();
}

void WorkerLink::adopt(uint64_t request, uint64_t timeout_ms,
                       std::function<void(Result<worker::Frame>)> done) {
  if (faulted_ || ending_ || closed_) {
    done(broke_off(stream_ended()));
    return;
  }
  running_ = std::make_unique<Running>();
  running_->request = request;
  running_->exchange.done = std::move(done);
  running_->exchange.timeout_ms = timeout_ms;
  begin_watch();
  stream_watch_.start(UV_READABLE, [this](int events) { on_stream(events); });
  on_stream(0);  // a whole frame may have been read already
}

// ---- is it still there? ----

void WorkerLink::begin_watch() {
  callers_turn_ = 0;
  // Only the steps of an embed are known to be short (limits.h).
  pulse_.begin(running_->request, running_->exchange.timeout_ms,
               running_->exchange.frame.type == worker::FrameType::kEmbed);
  set_look();
}

void WorkerLink::look_at_callers() {
  if (running_ || faulted_ || ending_ || closed_) return;
  const uint64_t turn = stream_->callers_turn();
  if (turn == 0 || turn == callers_turn_) return;
  const bool for_long = turn == std::exchange(seen_turn_, turn);
  if (!for_long) return;
  callers_turn_ = turn;
  pulse_.begin_of_caller();
  set_look();
}

void WorkerLink::set_look() {
  loop_->cancel_timer(&look_);
  look_ = loop_->add_timer(now_ns() + limits::kPingEveryMs * kNsPerMs, [this] {
    look_ = {};
    look();
  });
}

void WorkerLink::look() {
  auto self = shared_from_this();
  if (running_) {
    // A lane thread that got no time to run may find the reply there: then it is in time.
    const uint64_t request = running_->request;
    on_stream(UV_READABLE);
    if (!running_ || running_->request != request) return;
  } else if (stream_->callers_turn() != callers_turn_) {
    callers_turn_ = 0;
    return;
  }
  if (ask_after_it()) set_look();
}

// False: it is given up.
bool WorkerLink::ask_after_it() {
  const int fd = stream_->handle().control_fd();
  for (uint32_t pongs = 0; pongs <= 2 * limits::kPingsMissed; ++pongs) {  // more than were asked for
    Result<worker::Frame> frame = worker::receive_frame(fd, &control_reader_, 0);
    if (!frame.ok() && frame.status().code() == Code::kDeadlineExceeded) break;
    Status taken = frame.ok() ? take_pong(*frame) : frame.status();
    if (taken.ok()) continue;
    if (taken.code() == Code::kEngineCrashed)
      lose();
    else
      fail(std::move(taken));
    return false;
  }
  const Result<uint64_t> question = pulse_.next_question();
  Status asked = question.ok() ? worker::send_frame(fd, {worker::FrameType::kPing, *question, {}}, 0)
                               : question.status();
  if (asked.ok() || asked.code() == Code::kDeadlineExceeded) return true;
  fail(std::move(asked));
  return false;
}

Status WorkerLink::take_pong(const worker::Frame& frame) {
  if (frame.type != worker::FrameType::kPong)
    return error(Code::kProtocol, "it sent something else than answers on the control channel");
  ANELANE_ASSIGN(const worker::PongBody pong, worker::parse_pong(frame.body));
  pulse_.answered(frame.request, pong);
  return {};
}

// Its end is seen at the stream first; how it ended, a moment later.
void WorkerLink::lose() {
  lost_ = !faulted_;
  fail(stream_ended());
}

void WorkerLink::fail(Status why) {
  if (faulted_ || ending_) return;  // asked to end: nothing runs or waits, and it is no fault of the worker's
  auto self = shared_from_this();
  faulted_ = true;
  loop_->cancel_timer(&look_);
  stream_watch_.close();
  stream_->break_off();
  std::unique_ptr<Running> run = std::move(running_);
  auto queue = std::move(queue_);
  queue_.clear();
  auto fault = events_.fault;  // first: the scheduler must know before anybody asks again
  if (fault) fault(why);
  if (run) {
    stream_->give_back();
    run->exchange.done(broke_off(why));
  }
  for (auto& [id, exchange] : queue) exchange.done(not_sent());
}

void WorkerLink::end(uint64_t ask_ms) {
  if (gone_ || closed_) return;
  if (!faulted_) {
    // In good order: nothing runs (retirement), so the worker sees the end of its streams and leaves.
    ending_ = true;
    loop_->cancel_timer(&look_);
    stream_->break_off();
    auto self = shared_from_this();
    if (running_) {
      std::unique_ptr<Running> run = std::move(running_);
      stream_watch_.stop();
      stream_->give_back();
      run->exchange.done(broke_off(error(Code::kEngineCrashed, "it was asked to end")));
    }
    auto queue = std::move(queue_);
    queue_.clear();
    for (auto& [id, exchange] : queue) exchange.done(not_sent());
  }
  if (kill_timer_.second != 0) return;
  kill_timer_ = loop_->add_timer(now_ns() + ask_ms * 1'000'000, [this] {
    kill_timer_ = {};
    if (!gone_) stream_->handle().kill();
  });
}

void WorkerLink::on_exit() {
  if (gone_ || !stream_->handle().exited()) return;
  auto self = shared_from_this();
  gone_ = true;
  exit_watch_.close();
  loop_->cancel_timer(&kill_timer_);
  read_log();
  log_watch_.close();
  const std::string how = "its process " + stream_->handle().how_it_ended();
  if (!faulted_ && !ending_) {
    fail(error(Code::kEngineCrashed, how));
  } else if (lost_) {
    lost_how_ = how;
  }
  if (auto exited = events_.exited) exited();
}

void WorkerLink::on_log() {
  read_log();
}

void WorkerLink::read_log() {
  const int fd = stream_->handle().log_fd();
  if (fd < 0) return;
  char buffer[4096];
  for (int rounds = 0; rounds < 16; ++rounds) {  // bounded: a worker that shouts must not hold the loop
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) log_watch_.stop();  // the writer is gone; the exit handle tells the rest
    if (n <= 0) break;
    log_rest_.append(buffer, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end; (end = log_rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const uint64_t now = now_ns();
      if (now - log_window_ns_ > 1'000'000'000) {
        if (log_dropped_ > 0 && events_.log)
          events_.log("WARN dropped " + std::to_string(log_dropped_) +
                      " log lines of a worker within one second");
        log_window_ns_ = now;
        log_lines_ = log_dropped_ = 0;
      }
      if (++log_lines_ > kLogLinesPerSecond)
        ++log_dropped_;
      else if (events_.log)
        events_.log(log_rest_.substr(begin, end - begin));
    }
    log_rest_.erase(0, begin);
    if (log_rest_.size() > 65536) log_rest_.clear();
  }
}

}  // namespace anelane
