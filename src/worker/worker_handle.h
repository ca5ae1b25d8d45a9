// The host's end of one worker life: a process (or, in thread mode, a thread behind the same streams).
// It is ended only through a handle on the process itself, and its exit is confirmed by that handle: never by
// a bare pid. Created by launch_worker on a short-lived thread, then owned by the lane thread.
//
// The host's signal handling is left alone: no SIGCHLD handler, no SIGPIPE, no waitpid of foreign children.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fork_guard.h"
#include "base/status.h"
#include "worker/arena.h"
#include "worker/protocol.h"

namespace anelane::worker {

struct LaunchOptions {
  bool thread_mode = false;
  std::string executable;  // absolute path, from find_worker_executable()
  int lock_fd = -1;        // inherited and never closed by the worker (L1.2); -1 in some tests
  std::shared_ptr<Arena> arena;
  InitBody init;                 // nonce and version are filled in here
  uint64_t timeout_ms = 10'000;  // until HELLO
  const std::atomic<bool>* abort =
      nullptr;  // looked at now and then while waiting for HELLO: give up (CANCELLED)
};

class WorkerHandle {
 public:
  virtual ~WorkerHandle();  // kills what still runs and reaps it; bounded (kExitAskMs)
  WorkerHandle(const WorkerHandle&) = delete;
  WorkerHandle& operator=(const WorkerHandle&) = delete;
  const HelloBody& hello() const { return hello_; }
  int stream_fd() const { return stream_.get(); }    // non-blocking socket
  int control_fd() const { return control_.get(); }  // non-blocking socket
  int log_fd() const { return log_.get(); }          // read end, non-blocking; -1 in thread mode
  // Becomes readable when the process is gone (a pidfd on Linux); stays so.
  virtual int exit_fd() const = 0;
  virtual pid_t pid() const = 0;  // for people to read only; 0 in thread mode
  // Closes stream and control: a worker in good health ends by itself.
  void close_streams();
  // The same without giving the descriptors back: another thread may be in a call on them.
  void shut_streams();
  // Ends it by force. False: that cannot be done (thread mode).
  virtual bool kill() = 0;
  // True once it is gone for good; then it has been reaped as well (ECHILD: somebody else did).
  virtual bool exited() = 0;
  virtual bool can_be_killed() const = 0;
  // After exited(): "was killed by signal 9", "ended with code 1", for messages.
  virtual std::string how_it_ended() const = 0;
  // After exited(): its code, where it left by itself and that is known.
  virtual std::optional<int> exit_code() const { return std::nullopt; }

 protected:
  WorkerHandle();
  // False in a forked child of the process that made the handle: there it only lets go of descriptors.
  bool is_owner() const;
  fork_guard::Fd stream_, control_, log_;

 private:
  friend Result<std::unique_ptr<WorkerHandle>> launch_worker(const LaunchOptions& options);
  HelloBody hello_;
  const pid_t owner_pid_;
};

// Starts a worker and exchanges INIT and HELLO within the time-out. Errors: ENGINE_UNAVAILABLE (executable
// missing, not to be run, or leaving without a HELLO; engine not to be had), PROTOCOL (other version, nonce
// or build), ENGINE_CRASHED (it was killed first, or said nothing in time). On error nothing is left behind.
Result<std::unique_ptr<WorkerHandle>> launch_worker(const LaunchOptions& options);

// Option, ANELANE_WORKER (not in a set-id process), beside the library, ../libexec/anelane/,
// Contents/Helpers/; never PATH. ENGINE_UNAVAILABLE names the places that were tried.
Result<std::string> find_worker_executable(const std::string& option);

// ---- frames over a descriptor; no signal is ever raised ----
// Sends the whole frame, waiting for room at most until deadline_ns (now_ns clock).
Status send_frame(int fd, const Frame& frame, uint64_t deadline_ns);
// Reads until one frame is complete. DEADLINE_EXCEEDED, ENGINE_CRASHED (end of stream), PROTOCOL, IO.
Result<Frame> receive_frame(int fd, FrameReader* reader, uint64_t deadline_ns);

}  // namespace anelane::worker
