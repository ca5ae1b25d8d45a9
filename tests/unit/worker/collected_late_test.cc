// A worker whose handle says "ended" before it can be collected. Some kernels have such a moment; under a
// tracer it lasts as long as the tracer likes, on every kernel: the zombie is the tracer's first.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/clock.h"
#include "unit/worker/worker_test_support.h"
#include "worker/worker_handle.h"
#include "worker/worker_process.h"

namespace anelane::worker {
namespace {

using namespace test;

// A process that traces another one until it is told to leave.
class Tracer {
 public:
  explicit Tracer(pid_t traced) {
    int ready[2], leave[2];
    EXPECT_EQ(::pipe(ready) | ::pipe(leave), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(leave[1]);
      const char traces = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
      (void)!::write(ready[1], &traces, 1);
      char byte;
      (void)!::read(leave[0], &byte, 1);
      ::_exit(0);  // which lets go of the traced process
    }
    char traces = 'n';
    (void)!::read(ready[0], &traces, 1);
    traces_ = traces == 'y';
    for (const int fd : {ready[0], ready[1], leave[0]}) ::close(fd);
    leave_ = leave[1];
  }
  ~Tracer() { leave(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  bool traces() const { return traces_; }
  void leave() {
    if (leave_ < 0) return;
    ::close(leave_);
    leave_ = -1;
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int leave_ = -1;
  bool traces_ = false;
};

bool says_ended(int exit_fd) {
  pollfd entry{exit_fd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

TEST(CollectedLate, F65_AReadableHandleIsNoZombieLeftBehind) {
  ::setenv("FAKE_WORKER", "ignores_everything", 1);
  ::unsetenv("FAKE_WORKER_REPORT");
  LaunchOptions options;
  options.executable = ANELANE_BUILD_DIR "/tests/fake_worker";
  options.init.engine = "soft";
  options.timeout_ms = 20'000;
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(options);
  ASSERT_TRUE(launched.ok()) << launched.status().message();
  WorkerHandle& worker = **launched;
  const pid_t pid = worker.pid();
  Tracer tracer(pid);
  if (!tracer.traces()) GTEST_SKIP() << "this system does not let a process trace its sibling";
  worker.kill();
  ASSERT_TRUE(eventually([&] { return says_ended(worker.exit_fd()); }));
  EXPECT_EQ(state_of(pid), 'Z');
  EXPECT_FALSE(worker.exited()) << "its end is not confirmed before it was collected";
  EXPECT_FALSE(wait_until_exited(worker, now_ns() + 20'000'000));
  tracer.leave();
  EXPECT_TRUE(wait_until_exited(worker, now_ns() + uint64_t{10'000'000'000}));
  EXPECT_EQ(worker.how_it_ended(), "was killed by signal 9");
  EXPECT_EQ(state_of(pid), '\0');
}

}  // namespace
}  // namespace anelane::worker
