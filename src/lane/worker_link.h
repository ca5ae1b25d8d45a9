// The lane thread's side of one worker life: its queue of exchanges, its descriptors, its end. Everything
// here runs on the lane thread. A link serves one generation; the replacement gets a new link.
//
// States: open → broken (a fault was reported; nothing is sent any more) or closing (asked to end in good
// order) → gone (exit confirmed).
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "lane/loop_thread.h"
#include "lane/worker_pulse.h"
#include "lane/worker_stream.h"

namespace anelane {

class WorkerLink : public std::enable_shared_from_this<WorkerLink> {
 public:
  struct Exchange {
    worker::Frame frame;              // its request id is given when it is sent
    std::function<Status()> prepare;  // just before sending, permit in hand; an error ends the exchange
    std::function<std::string()> make_body;  // after prepare; empty: frame.body as it is
    std::function<void()> sent;
    std::function<void(const worker::Frame&)> progress;
    std::function<void(Result<worker::Frame>)>
        done;                 // exactly once; an error: the outcome is unknown, or not sent
    uint64_t timeout_ms = 0;  // from sending to the reply (worker_pulse.h)
    uint32_t lease_mask = 0;  // bit of the rung whose lease waits for this exchange
  };
  struct Events {
    std::function<void(Status why)> fault;        // at most once: outcome unknown from here on
    std::function<void()> exited;                 // at most once: the process is gone
    std::function<void(const std::string&)> log;  // one line of the worker
    std::function<void()> idle;                   // no exchange runs or waits
  };

  static Result<std::shared_ptr<WorkerLink>> open(LoopThread* loop, std::shared_ptr<WorkerStream> stream,
                                                  Events events);
  WorkerLink(LoopThread* loop, std::shared_ptr<WorkerStream> stream, Events events);
  ~WorkerLink();

  const std::shared_ptr<WorkerStream>& stream() const { return stream_; }
  // Queues it; a broken link ends it with ENGINE_CRASHED right away (done is called before this returns).
  uint64_t submit(Exchange exchange);
  // True: it was not sent yet; it is forgotten and done is not called.
  bool withdraw(uint64_t id);
  // A caller's own exchange that outlasted its deadline: the lane thread has the permit from now on, drains
  // the reply, then calls `done`.
  void adopt(uint64_t request, uint64_t timeout_ms, std::function<void(Result<worker::Frame>)> done);
  // To be called now and then while leases are held: a caller's own exchange that has the stream since the
  // last call is asked after, as those of the lane thread are.
  void look_at_callers();
  // The stream cannot be trusted any more. Queued and running exchanges end, the fault event is sent.
  void fail(Status why);
  // Ends the worker: closes the streams now, kills it after `ask_ms`, and reports its exit.
  void end(uint64_t ask_ms);
  bool gone() const { return gone_; }
  // After the exit of a worker that closed its stream by itself: how its process ended; else "".
  const std::string& lost_how() const { return lost_how_; }
  // Rungs with a lease whose exchange waits behind an admission that is on the wire (L3.5).
  uint32_t leases_behind_admission() const;
  // True while an admission is on the wire.
  bool runs_admission() const {
    return running_ != nullptr && running_->exchange.frame.type == worker::FrameType::kAdmit;
  }
  // Detaches everything from the loop. No event comes afterwards.
  void close();

 private:
  struct Running {
    uint64_t id = 0, request = 0;
    Exchange exchange;
    std::string outbox;
    size_t written = 0;
  };
  void pump();
  void send_front();
  void on_stream(int events);
  bool flush();
  void on_frame(worker::Frame frame);
  void finish_running(Result<worker::Frame> reply);
  void begin_watch();
  void set_look();
  void look();
  bool ask_after_it();
  Status take_pong(const worker::Frame& frame);
  void lose();
  void on_exit();
  void on_log();
  void read_log();

  LoopThread* loop_;
  std::shared_ptr<WorkerStream> stream_;
  Events events_;
  std::deque<std::pair<uint64_t, Exchange>> queue_;
  std::unique_ptr<Running> running_;
  uint64_t last_id_ = 0;
  bool waiting_for_permit_ = false;
  bool faulted_ = false, ending_ = false, gone_ = false, closed_ = false;
  bool lost_ = false;  // faulted_ because the worker closed its stream
  std::string lost_how_;
  LoopThread::Watch stream_watch_, exit_watch_, log_watch_;
  WorkerPulse pulse_;  // of what runs: an exchange of ours, or the caller's turn below
  uint64_t callers_turn_ = 0, seen_turn_ = 0;
  worker::FrameReader control_reader_;
  LoopThread::TimerId look_{}, kill_timer_{};
  std::string log_rest_;
  uint64_t log_window_ns_ = 0;
  uint32_t log_lines_ = 0, log_dropped_ = 0;
};

}  // namespace anelane
