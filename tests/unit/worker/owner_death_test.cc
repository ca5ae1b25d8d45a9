// L1.4: a worker whose owner process dies is gone within a second, whatever else is going on; and watching
// for that costs nothing. The middle process (owner_program) is a real host that is really killed; this test
// adopts its orphans so that it can see how they ended.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "lane/lane_lock.h"
#include "support/tiny_checkpoint.h"
#include "unit/worker/worker_test_support.h"
#include "worker/frame_io.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

using namespace test;
constexpr uint64_t kMs = 1'000'000;
const char* const kFake = ANELANE_BUILD_DIR "/tests/fake_worker";
const char* const kReal = ANELANE_BUILD_DIR "/anelane-worker";
const char* const kOwner = ANELANE_BUILD_DIR "/tests/owner_program";

struct Owner {
  pid_t owner = 0, worker = 0, child = 0;
  int busy = 0;  // the request that the worker's engine is at
};

Owner start_owner(const char* worker, std::vector<const char*> words) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Owner started;
  started.owner = ::fork();
  if (started.owner == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    words.insert(words.begin(), {kOwner, worker});
    words.push_back(nullptr);
    ::execv(kOwner, const_cast<char* const*>(words.data()));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::FILE* lines = ::fdopen(ends[0], "r");
  int worker_pid = 0, child_pid = 0;
  EXPECT_EQ(std::fscanf(lines, "worker %d\nchild %d\nbusy %d", &worker_pid, &child_pid, &started.busy), 3);
  std::fclose(lines);
  started.worker = worker_pid;
  started.child = child_pid;
  return started;
}

// Exit status as waitpid gives it; -1 when the process does not end in time.
int wait_for_end(pid_t pid, int ms) {
  int status = -1;
  const bool ended = eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, ms);
  return ended ? status : -1;
}

void kill_owner(const Owner& owner) {
  ASSERT_EQ(::kill(owner.owner, SIGKILL), 0);
  ASSERT_EQ(::waitpid(owner.owner, nullptr, 0), owner.owner);
}

void end_child(const Owner& owner) {
  if (owner.child <= 0) return;
  ::kill(owner.child, SIGKILL);
  ::waitpid(owner.child, nullptr, 0);
}

class OwnerDeath : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OWNER_CACHE", cache_.path().c_str(), 1);
    ::setenv("FAKE_WORKER", "stuck_engine", 1);
  }
  TempFolder cache_;
};

TEST_F(OwnerDeath, L1_4_F73_WorkerFollowsItsKilledOwner) {
  const Owner owner = start_owner(kReal, {});
  ASSERT_TRUE(is_running(owner.worker));
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
}

TEST_F(OwnerDeath, L1_4_AForkedChildOfTheOwnerDoesNotKeepItAlive) {
  const Owner owner = start_owner(kReal, {"fork"});
  ASSERT_TRUE(is_running(owner.child));
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
  EXPECT_TRUE(is_running(owner.child));
  end_child(owner);
}

TEST_F(OwnerDeath, L1_4_WithAStuckEngineAndUnreadBytes) {
  const Owner owner = start_owner(kFake, {"fork"});
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
  end_child(owner);
}

TEST_F(OwnerDeath, L1_4_InTheMiddleOfACompile) {
  ASSERT_TRUE(write_tiny_checkpoint(cache_.file("model")).ok());
  ::setenv("OWNER_MODEL", cache_.file("model").c_str(), 1);
  // The soft engine compiles one layer at a time machine-wide, behind this lock: while we have it, a compile
  // does not come to an end.
  UniqueFd gate(::open(cache_.file("compile.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(gate.get(), LOCK_EX | LOCK_NB), 0);
  const Owner owner = start_owner(kReal, {"fork", "admit"});
  ASSERT_EQ(owner.busy, 2) << "the engine must be at the admission";
  ASSERT_TRUE(is_running(owner.worker));
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
  end_child(owner);
}

// A stop reaches the threads of a process one after the other.
bool every_thread_is_stopped(pid_t pid) {
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(") ");
    if (name_end == std::string::npos || line[name_end + 2] != 'T') return false;
  }
  return !gone;
}

TEST_F(OwnerDeath, L1_2_StoppedWorkerOfADeadOwnerKeepsTheLaneUntilItRunsAgain) {
  ASSERT_EQ(::mkdir(cache_.file("lane").c_str(), 0700), 0);
  ::setenv("OWNER_LANE", cache_.file("lane").c_str(), 1);
  const Owner owner = start_owner(kReal, {"lock"});
  ASSERT_EQ(LaneLock::acquire(cache_.file("lane"), 0).status().code(), Code::kLaneBusy);
  ASSERT_EQ(::kill(owner.worker, SIGSTOP), 0);
  const uint64_t until = now_ns() + 5000 * kMs;
  while (!every_thread_is_stopped(owner.worker) && now_ns() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill_owner(owner);
  const Status busy = LaneLock::acquire(cache_.file("lane"), now_ns() + 300 * kMs).status();
  EXPECT_EQ(busy.code(), Code::kLaneBusy);
  EXPECT_EQ(busy.detail().holder_pid, static_cast<uint32_t>(owner.owner));
  EXPECT_TRUE(lane_holder(cache_.file("lane"))->record_stale);
  const uint64_t continued = now_ns();
  ASSERT_EQ(::kill(owner.worker, SIGCONT), 0);
  const Result<LaneLock> free = LaneLock::acquire(cache_.file("lane"), now_ns() + 1000 * kMs);
  EXPECT_TRUE(free.ok()) << free.status().message();
  std::printf("the lane was free %.1f ms after its worker ran on\n",
              static_cast<double>(now_ns() - continued) / 1e6);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
}

TEST_F(OwnerDeath, TheEndOfTheThreadThatStartedItMeansNothing) {
  const Owner owner = start_owner(kReal, {"thread-exit"});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(is_running(owner.worker));
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
}

TEST_F(OwnerDeath, TerminalSignalsAreTheHostsBusiness) {
  const Owner owner = start_owner(kReal, {});
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::kill(owner.worker, signal);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(is_running(owner.worker));
  kill_owner(owner);
  EXPECT_EQ(wait_for_end(owner.worker, 1000), 0);
}

#ifdef __SANITIZE_THREAD__
constexpr uint64_t kIdleNs = 10 * kMs;  // its runtime has a thread of its own that wakes up
#else
constexpr uint64_t kIdleNs = kMs;
#endif

// On a busy machine it takes a while to its sleep: of some times of 2 s, one is quiet.
void expect_idle(pid_t pid, const char* when) {
  uint64_t spent = kIdleNs;
  for (int i = 0; i < 10 && spent >= kIdleNs; ++i) {
    const uint64_t before = cpu_ns(pid);
    ASSERT_GT(before, 0u) << "the kernel does not tell: this test would prove nothing";
    std::this_thread::sleep_for(std::chrono::seconds(2));
    spent = cpu_ns(pid) - before;
    std::printf("%s: %.3f ms of CPU in 2 s\n", when, static_cast<double>(spent) / 1e6);
  }
  EXPECT_LT(spent, kIdleNs) << when;
}

TEST_F(OwnerDeath, S064_WatchingCostsNothing) {
  const Owner real = start_owner(kReal, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  expect_idle(real.worker, "idle worker");
  kill_owner(real);
  EXPECT_EQ(wait_for_end(real.worker, 1000), 0);

  // Its stream is full of frames that the stuck engine does not read.
  const Owner stuck = start_owner(kFake, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  expect_idle(stuck.worker, "worker with unread bytes");
  EXPECT_TRUE(is_running(stuck.worker));
  kill_owner(stuck);
  EXPECT_EQ(wait_for_end(stuck.worker, 1000), 0);
}

// ---- the control channel of a worker whose engine is stuck ----

class StuckEngine : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("FAKE_WORKER", "stuck_engine", 1);
    LaunchOptions options;
    options.executable = kFake;
    options.init.engine = "soft";
    Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(options);
    ASSERT_TRUE(launched.ok()) << launched.status().message();
    worker_ = *std::move(launched);
  }
  std::unique_ptr<WorkerHandle> worker_;
};

TEST_F(StuckEngine, F42_PingIsAnsweredWithWhatItIsDoing) {
  FrameReader reader;
  uint64_t before = 0;
  for (uint64_t asked = 70; asked < 73; ++asked) {
    ASSERT_TRUE(send_frame(worker_->control_fd(), {FrameType::kPing, asked, ""}, now_ns() + 1000 * kMs).ok());
    const Result<Frame> pong = receive_frame(worker_->control_fd(), &reader, now_ns() + 20'000 * kMs);
    ASSERT_TRUE(pong.ok()) << pong.status().message();
    EXPECT_EQ(pong->type, FrameType::kPong);
    EXPECT_EQ(pong->request, asked);
    const Result<PongBody> body = parse_pong(pong->body);
    ASSERT_TRUE(body.ok());
    EXPECT_EQ(body->request, 42u);
    if (asked > 70) {
      EXPECT_GE(body->busy_ms, before + 20);
    }
    before = body->busy_ms;
    std::this_thread::sleep_for(std::chrono::milliseconds(21));
  }
}

TEST_F(StuckEngine, FloodOfPingsThatNobodyReadsDoesNotBlockTheWatch) {
  for (int i = 0; i < 200'000; ++i)
    if (!send_frame(worker_->control_fd(), {FrameType::kPing, 1, ""}, now_ns() + 20 * kMs).ok()) break;
  worker_->close_streams();
  EXPECT_TRUE(eventually([&] { return worker_->exited(); }));
}

TEST_F(StuckEngine, L6_1_EndOfTheControlChannelForcesTheEndAfterASecond) {
  const uint64_t start = now_ns();
  worker_->close_streams();
  ASSERT_TRUE(eventually([&] { return worker_->exited(); }));
  EXPECT_GE(now_ns() - start, 900 * kMs) << "it must get its second to end politely";
  EXPECT_LT(now_ns() - start, 5000 * kMs);
  EXPECT_EQ(worker_->how_it_ended(), "ended with code 3");
}

TEST_F(StuckEngine, L6_1_StopForcesTheEndAfterASecond) {
  ASSERT_TRUE(send_frame(worker_->control_fd(), {FrameType::kStop, 0, ""}, now_ns() + 1000 * kMs).ok());
  EXPECT_TRUE(eventually([&] { return worker_->exited(); }));
  EXPECT_EQ(worker_->how_it_ended(), "ended with code 3");
}

TEST_F(StuckEngine, GarbageOnTheControlChannelEndsIt) {
  ASSERT_EQ(::send(worker_->control_fd(), "garbage!", 8, MSG_NOSIGNAL), 8);
  EXPECT_TRUE(eventually([&] { return worker_->exited(); }));
}

}  // namespace
}  // namespace anelane::worker
