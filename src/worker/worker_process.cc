// A worker as a process of its own, with the descriptors of worker_descriptors.h and nothing else of the
// host.
//
// States: running → gone. `gone_` is set once, when the handle on the process has fired, and the process is
// reaped at that moment; if the host reaped it first (or ignores SIGCHLD, so that the kernel does), it is
// gone all the same. A forked child of the host holds copies of the descriptors: it must neither reap nor
// kill nor shut down anything, which is why every deed asks for the pid that started the worker. Threads: one
// at a time; handed from the launching thread to the lane thread.
#include "worker/worker_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/descriptor_pairs.h"
#include "worker/frame_io.h"
#include "worker/spawn.h"
#include "worker/worker_descriptors.h"

namespace anelane::worker {
namespace {

class ProcessWorker final : public WorkerHandle {
 public:
  ProcessWorker(SpawnedProcess process, fork_guard::Fd stream, fork_guard::Fd control, fork_guard::Fd log)
      : process_(std::move(process)) {
    stream_ = std::move(stream);
    control_ = std::move(control);
    log_ = std::move(log);
  }
  ~ProcessWorker() override {
    if (!is_owner()) return;
    close_streams();
    if (exited()) return;
    kill_process(process_);
    wait_until_exited(*this, now_ns() + uint64_t{limits::kExitAskMs} * 1'000'000);
  }

  int exit_fd() const override { return process_.handle.get(); }
  pid_t pid() const override { return process_.pid; }
  bool can_be_killed() const override { return true; }
  std::string how_it_ended() const override { return gone_ ? end_.how : "has not ended"; }
  std::optional<int> exit_code() const override { return end_.code; }

  bool kill() override {
    if (is_owner() && !exited()) kill_process(process_);
    return true;
  }

  bool exited() override {
    if (gone_ || !is_owner()) return gone_;
    pollfd entry{process_.handle.get(), POLLIN, 0};
    if (::poll(&entry, 1, 0) <= 0) return false;
    // Linux 6.18 makes the handle readable a moment before the process can be collected: ask again.
    gone_ = reap_process(process_, &end_);
    return gone_;
  }

 private:
  SpawnedProcess process_;
  bool gone_ = false;
  ProcessEnd end_;
};

}  // namespace

bool wait_until_exited(WorkerHandle& handle, uint64_t deadline_ns) {
  while (!handle.exited()) {
    if (now_ns() >= deadline_ns) return false;
    (void)wait_ready(handle.exit_fd(), POLLIN, deadline_ns);
  }
  return true;
}

Result<std::unique_ptr<WorkerHandle>> start_worker_process(const LaunchOptions& options,
                                                           uint64_t deadline_ns) {
  ANELANE_ASSIGN(DescriptorPair stream, make_socket_pair());
  ANELANE_ASSIGN(DescriptorPair control, make_socket_pair());
  ANELANE_ASSIGN(DescriptorPair log, make_log_pipe());
  ANELANE_ASSIGN(const UniqueFd owner, make_owner_handle());
  const UniqueFd null = above_stdio(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  if (!null) return io_error("open", "/dev/null", errno);

  SpawnRequest request;
  request.executable = options.executable;
  request.arguments = {"anelane-worker"};
  request.descriptors.assign(kWorkerDescriptors, -1);
  request.descriptors[kNullFd] = null.get();
  request.descriptors[kOutFd] = log.theirs.get();
  request.descriptors[kErrFd] = log.theirs.get();
  request.descriptors[kStreamFd] = stream.theirs.get();
  request.descriptors[kControlFd] = control.theirs.get();
  request.descriptors[kLockFd] = options.lock_fd;
  request.descriptors[kOwnerFd] = owner.get();
  request.descriptors[kArenaFd] = options.arena ? options.arena->fd() : -1;
  request.deadline_ns = deadline_ns;
  request.abort = options.abort;
  ANELANE_ASSIGN(SpawnedProcess process, spawn(request));
  return std::unique_ptr<WorkerHandle>(new ProcessWorker(std::move(process), std::move(stream.ours),
                                                         std::move(control.ours), std::move(log.ours)));
}

}  // namespace anelane::worker
