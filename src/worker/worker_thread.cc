// A worker as a thread of the host, for hosts that may not start processes. The same loop behind the same
// streams; what a process gives on top is missing: nothing can be forced. A thread that is stuck in the
// engine keeps its slots and, when the handle is destroyed, is left to itself (the library is never
// unloaded).
//
// State shared with the thread: the descriptor that reports its end, and whether it has come.
#include <poll.h>
#include <unistd.h>

#include <fcntl.h>
#include <atomic>
#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "base/limits.h"
#include "base/quiet_thread.h"
#include "worker/descriptor_pairs.h"
#include "worker/worker_loop.h"
#include "worker/worker_process.h"

namespace anelane::worker {
namespace {

struct ThreadEnd {
  fork_guard::Fd report;  // written end of the end pipe: closing it is the report
  std::atomic<bool> done{false};
};

class ThreadWorker final : public WorkerHandle {
 public:
  ThreadWorker(fork_guard::Fd stream, fork_guard::Fd control, fork_guard::Fd end,
               std::shared_ptr<ThreadEnd> state, std::thread thread)
      : end_(std::move(end)), state_(std::move(state)), thread_(std::move(thread)) {
    stream_ = std::move(stream);
    control_ = std::move(control);
  }
  ~ThreadWorker() override {
    if (!is_owner()) {
      (void)new std::thread(std::move(thread_));  // a forked child has no such thread to join
      return;
    }
    close_streams();
    if (wait_until_exited(*this, now_ns() + uint64_t{limits::kExitAskMs} * 1'000'000))
      thread_.join();
    else
      thread_.detach();
  }

  int exit_fd() const override { return end_.get(); }
  pid_t pid() const override { return 0; }
  bool can_be_killed() const override { return false; }
  std::string how_it_ended() const override { return exited_now() ? "has ended" : "has not ended"; }
  bool kill() override {
    shut_streams();
    return false;
  }
  bool exited() override { return exited_now(); }

 private:
  bool exited_now() const { return state_->done.load(std::memory_order_acquire); }
  fork_guard::Fd end_;
  std::shared_ptr<ThreadEnd> state_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<WorkerHandle>> start_worker_thread(const LaunchOptions& options) {
  ANELANE_ASSIGN(DescriptorPair stream, make_socket_pair());
  ANELANE_ASSIGN(DescriptorPair control, make_socket_pair());
  ANELANE_ASSIGN(DescriptorPair end, make_end_pipe());
  auto state = std::make_shared<ThreadEnd>();
  state->report = std::move(end.theirs);
  auto ends = std::make_shared<LoopEnds>();
  ends->stream = stream.theirs.release();
  ends->control = control.theirs.release();
  if (options.arena) {
    ends->arena = UniqueFd(::fcntl(options.arena->fd(), F_DUPFD_CLOEXEC, 3));
    if (!ends->arena) return io_error("hand", "the arena to a worker", errno);
  }
  ANELANE_ASSIGN(std::thread thread, start_quiet_thread([ends, state] {
                   (void)run_worker_loop(std::move(*ends), false);
                   state->done.store(true, std::memory_order_release);
                   state->report.reset();
                 }));
  return std::unique_ptr<WorkerHandle>(new ThreadWorker(std::move(stream.ours), std::move(control.ours),
                                                        std::move(end.ours), std::move(state),
                                                        std::move(thread)));
}

}  // namespace anelane::worker
