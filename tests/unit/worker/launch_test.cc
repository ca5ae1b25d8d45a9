// Starting workers: what they find, what is said when it goes wrong, and that nothing is left behind then.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>

#include "base/clock.h"
#include "lane/lane_lock.h"
#include "support/tiny_checkpoint.h"
#include "unit/worker/worker_test_support.h"
#include "worker/worker_descriptors.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

using namespace test;
constexpr uint64_t kMs = 1'000'000;
const char* const kReal = ANELANE_BUILD_DIR "/anelane-worker";
const char* const kFake = ANELANE_BUILD_DIR "/tests/fake_worker";

size_t own_descriptors() {
  return open_files(::getpid()).size();
}

LaunchOptions fake(const char* habit) {
  ::setenv("FAKE_WORKER", habit, 1);
  LaunchOptions options;
  options.executable = kFake;
  options.init.engine = "soft";
  options.timeout_ms = 20'000;
  return options;
}

// The children of this process, zombies included.
std::set<int> children() {
  std::set<int> pids;
  std::istringstream text(read_all("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
  for (int pid = 0; text >> pid;) pids.insert(pid);
  return pids;
}

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("FAKE_WORKER_REPORT");
    descriptors_ = own_descriptors();
  }
  void TearDown() override {
    EXPECT_TRUE(children().empty()) << "a child or a zombie was left behind";
    EXPECT_EQ(own_descriptors(), descriptors_) << "a descriptor was left open";
  }
  Status failure(const char* habit) {
    const Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake(habit));
    EXPECT_FALSE(launched.ok()) << habit;
    return launched.status();
  }
  size_t descriptors_ = 0;
};

bool mentions(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

TEST_F(LaunchTest, GoodWorkerSaysHello) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake("ends_when_closed"));
  ASSERT_TRUE(launched.ok()) << launched.status().message();
  WorkerHandle& worker = **launched;
  EXPECT_EQ(worker.hello().engine, "fake");
  EXPECT_EQ(worker.hello().build, build_id());
  EXPECT_EQ(worker.hello().pid, worker.pid());
  EXPECT_TRUE(worker.can_be_killed());
  EXPECT_FALSE(worker.exited());
  for (const int fd : {worker.stream_fd(), worker.control_fd(), worker.log_fd(), worker.exit_fd()}) {
    EXPECT_GE(fd, 3);
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC) << fd;
  }
  for (const int fd : {worker.stream_fd(), worker.control_fd(), worker.log_fd()})
    EXPECT_TRUE(::fcntl(fd, F_GETFL) & O_NONBLOCK) << fd;
  worker.close_streams();
  EXPECT_TRUE(eventually([&] { return worker.exited(); }));
  EXPECT_EQ(worker.how_it_ended(), "ended with code 0");
  EXPECT_TRUE(children().empty()) << "exited() reaps";
}

TEST_F(LaunchTest, HelloMayComeByteByByte) {
  EXPECT_TRUE(launch_worker(fake("slow_bytes")).ok());
}

TEST_F(LaunchTest, F65_DestroyingTheHandleLeavesNoZombie) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake("ignores_everything"));
  ASSERT_TRUE(launched.ok()) << launched.status().message();
  const pid_t pid = (*launched)->pid();
  launched->reset();
  EXPECT_EQ(state_of(pid), '\0');
}

TEST_F(LaunchTest, KillIsConfirmedByTheHandle) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake("ignores_everything"));
  ASSERT_TRUE(launched.ok());
  EXPECT_TRUE((*launched)->kill());
  EXPECT_TRUE(eventually([&] { return (*launched)->exited(); }));
  EXPECT_EQ((*launched)->how_it_ended(), "was killed by signal 9");
  EXPECT_TRUE((*launched)->kill()) << "killing what is gone is no error and reaches nobody";
}

TEST_F(LaunchTest, MissingExecutableIsNamed) {
  LaunchOptions options = fake("");
  options.executable = "/nowhere/anelane-worker";
  const Status status = launch_worker(options).status();
  EXPECT_EQ(status.code(), Code::kEngineUnavailable);
  EXPECT_TRUE(mentions(status, "/nowhere/anelane-worker")) << status.message();
  EXPECT_TRUE(mentions(status, "No such file")) << status.message();
}

TEST_F(LaunchTest, ExecutableThatMayNotRunIsNamed) {
  const TempFolder folder;
  LaunchOptions options = fake("");
  options.executable = folder.file("worker");
  ASSERT_TRUE(write_file_atomic(options.executable, std::string_view("x")).ok());
  const Status denied = launch_worker(options).status();
  EXPECT_EQ(denied.code(), Code::kEngineUnavailable);
  EXPECT_TRUE(mentions(denied, "Permission denied")) << denied.message();
  ASSERT_EQ(::chmod(options.executable.c_str(), 0700), 0);
  const Status format = launch_worker(options).status();
  EXPECT_EQ(format.code(), Code::kEngineUnavailable);
  EXPECT_TRUE(mentions(format, "format")) << format.message();
}

TEST_F(LaunchTest, OtherBuildIsRefusedWithBothNamed) {
  const Status status = failure("wrong_build");
  EXPECT_EQ(status.code(), Code::kProtocol);
  EXPECT_TRUE(mentions(status, "0.0.9+abc") && mentions(status, build_id())) << status.message();
  EXPECT_EQ(failure("wrong_nonce").code(), Code::kProtocol);
  EXPECT_EQ(failure("wrong_version").code(), Code::kProtocol);
}

TEST_F(LaunchTest, DeathBeforeHelloQuotesTheLastWords) {
  const Status unheard = failure("dies_unheard");  // by itself: it will again
  EXPECT_EQ(unheard.code(), Code::kEngineUnavailable);
  EXPECT_TRUE(mentions(unheard, "ended with code 7") && mentions(unheard, "--version")) << unheard.message();
  EXPECT_TRUE(mentions(failure("dies_with_words"), "libfoo.so|no such luck"));
  const Status killed = failure("killed");
  EXPECT_TRUE(killed.code() == Code::kEngineCrashed && mentions(killed, "killed by signal 9"));
}

TEST_F(LaunchTest, L6_5_SilenceIsBoundedAndTheProcessEnded) {
  for (const char* habit : {"hangs", "half_frame"}) {
    LaunchOptions options = fake(habit);
    options.timeout_ms = 100;
    const uint64_t start = now_ns();
    const Status status = launch_worker(options).status();
    EXPECT_EQ(status.code(), Code::kEngineCrashed) << habit;
    EXPECT_GE(now_ns() - start, 100 * kMs);
    EXPECT_LT(now_ns() - start, 10'000 * kMs);
    EXPECT_TRUE(mentions(status, "100 ms")) << status.message();
    EXPECT_TRUE(children().empty()) << habit;
  }
}

TEST_F(LaunchTest, NonsenseInsteadOfHelloIsAProtocolError) {
  for (const char* habit : {"garbage", "oversize", "unknown_type", "not_json", "other_frame", "two_hellos"})
    EXPECT_EQ(failure(habit).code(), Code::kProtocol) << habit;
  EXPECT_EQ(failure("closes_stream").code(), Code::kEngineCrashed);
}

TEST_F(LaunchTest, RefusalOfTheWorkerComesThroughWhole) {
  const Status status = failure("refuses");
  EXPECT_EQ(status.code(), Code::kEngineUnavailable);
  EXPECT_EQ(status.message(), "the framework has changed");
  EXPECT_EQ(status.detail().limit, 5u);
}

// A launch that stops being wanted after 50 ms.
void expect_given_up(LaunchOptions options) {
  std::atomic<bool> abort{false};
  options.abort = &abort;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    abort = true;
  });
  const uint64_t start = now_ns();
  EXPECT_EQ(launch_worker(options).status().code(), Code::kCancelled);
  EXPECT_LT(now_ns() - start, 10'000 * kMs) << "long before its own time-out";
  other.join();
}

TEST_F(LaunchTest, UnwantedLaunchIsGivenUp) {
  LaunchOptions options = fake("hangs");
  expect_given_up(options);
}

// ---- a child that is held up between its creation and its exec ----

// While it lives, an exec of the file waits for us: for lease-break-time, 45 s unless the system says
// otherwise.
class HeldFile {
 public:
  explicit HeldFile(const std::string& path) : before_(::signal(SIGIO, SIG_IGN)) {
    fd_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    held_ = ::fcntl(fd_.get(), F_SETLEASE, F_WRLCK) == 0;
  }
  ~HeldFile() {
    fd_.reset();
    ::signal(SIGIO, before_);
  }
  bool held() const { return held_; }

 private:
  sighandler_t before_;
  UniqueFd fd_;
  bool held_ = false;
};

TEST_F(LaunchTest, L6_5_ChildThatDoesNotGetToItsExecIsEndedAtTheTimeout) {
  const TempFolder folder;
  LaunchOptions options = fake("ends_when_closed");
  options.executable = folder.file("worker");
  ASSERT_TRUE(write_file_atomic(options.executable, std::string_view("#!/bin/true\n"), 0700).ok());
  const HeldFile held(options.executable);
  ASSERT_TRUE(held.held()) << errno_text(errno);
  options.timeout_ms = 200;
  const uint64_t start = now_ns();
  const Status status = launch_worker(options).status();
  EXPECT_EQ(status.code(), Code::kEngineCrashed) << status.message();
  EXPECT_TRUE(mentions(status, options.executable)) << status.message();
  EXPECT_LT(now_ns() - start, 10'000 * kMs);
}

TEST_F(LaunchTest, UnwantedLaunchIsGivenUpWhileItsChildIsHeldBeforeTheExec) {
  const TempFolder folder;
  LaunchOptions options = fake("ends_when_closed");
  options.executable = folder.file("worker");
  ASSERT_TRUE(write_file_atomic(options.executable, std::string_view("#!/bin/true\n"), 0700).ok());
  const HeldFile held(options.executable);
  ASSERT_TRUE(held.held()) << errno_text(errno);
  expect_given_up(options);
}

// ---- the real worker ----

// What a command prints on both streams, and its exit code.
std::pair<std::string, int> output_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char text[4096] = {};
  (void)!std::fread(text, 1, sizeof text - 1, pipe);
  return {text, WEXITSTATUS(::pclose(pipe))};
}

TEST_F(LaunchTest, StartedByHandItExplainsItself) {
  for (const char* words : {" </dev/null", " --help", " --version extra"}) {
    const auto [text, code] = output_of(std::string(kReal) + words);
    EXPECT_EQ(code, 2) << words;
    EXPECT_NE(text.find("started by hand"), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << "one line";
  }
}

TEST_F(LaunchTest, VersionOfTheWorkerIsTheBuildOfTheLibrary) {
  const auto [text, code] = output_of(std::string(kReal) + " --version");
  EXPECT_EQ(code, 0);
  EXPECT_EQ(text, std::string("anelane-worker ") + build_id() + "\n");
  EXPECT_NE(std::string(build_id()).find('+'), std::string::npos);
}

TEST_F(LaunchTest, EngineThatThisSystemCannotHaveIsRefusedInBothModes) {
  for (const bool thread_mode : {false, true}) {
    LaunchOptions options = fake("");
    options.executable = kReal;
    options.thread_mode = thread_mode;
    options.init.engine = "apple";
    const Status status = launch_worker(options).status();
    EXPECT_EQ(status.code(), Code::kEngineUnavailable) << thread_mode;
    EXPECT_TRUE(mentions(status, "\"apple\"")) << status.message();
  }
}

// ---- what the worker finds ----

std::set<std::string> lines_of(const std::string& path) {
  std::set<std::string> lines;
  std::istringstream text(read_all(path));
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}

struct Report {
  std::set<std::string> lines;
  std::set<int> descriptors() const {
    std::set<int> fds;
    for (const std::string& line : lines)
      if (line.rfind("fd ", 0) == 0) fds.insert(std::atoi(line.c_str() + 3));
    return fds;
  }
  std::string target(int fd) const {
    const std::string start = "fd " + std::to_string(fd) + " ";
    for (const std::string& line : lines)
      if (line.rfind(start, 0) == 0) return line.substr(start.size());
    return {};
  }
};

Result<Report> report_of_worker(const TempFolder& folder, bool with_everything) {
  ::setenv("FAKE_WORKER_REPORT", folder.file("report").c_str(), 1);
  LaunchOptions options = fake("ends_when_closed");
  UniqueFd lock;
  if (with_everything) {
    lock = UniqueFd(::open(folder.file("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    options.lock_fd = lock.get();
    ANELANE_ASSIGN(options.arena, Arena::create(4096));
  }
  ANELANE_ASSIGN(auto worker, launch_worker(options));
  ::unsetenv("FAKE_WORKER_REPORT");
  return Report{lines_of(folder.file("report"))};
}

TEST_F(LaunchTest, WorkerFindsExactlyItsDescriptors) {
  const TempFolder folder;
  const Result<Report> report = report_of_worker(folder, true);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->descriptors(), (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(report->target(kNullFd), "/dev/null");
  EXPECT_EQ(report->target(kOutFd).substr(0, 5), "pipe:");
  EXPECT_EQ(report->target(kOutFd), report->target(kErrFd));
  EXPECT_EQ(report->target(kStreamFd).substr(0, 7), "socket:");
  EXPECT_EQ(report->target(kControlFd).substr(0, 7), "socket:");
  EXPECT_NE(report->target(kLockFd).find("/lock"), std::string::npos);
  EXPECT_NE(report->target(kOwnerFd).find("pidfd"), std::string::npos);
  EXPECT_NE(report->target(kArenaFd).find("anelane-arena"), std::string::npos);
  EXPECT_TRUE(report->lines.count("blocked 0"));
  EXPECT_TRUE(report->lines.count("ignored 0"));
  EXPECT_TRUE(report->lines.count("argv0 anelane-worker"));
  EXPECT_TRUE(report->lines.count("log_nonblocking 1"));
}

TEST_F(LaunchTest, WhatIsNotGivenIsClosedWhateverTheHostHasThere) {
  std::vector<UniqueFd> blockers;  // inheritable files at and around the worker's numbers
  for (int i = 0; i < 12; ++i) blockers.emplace_back(::open("/etc/passwd", O_RDONLY));
  const TempFolder folder;
  const Result<Report> report = report_of_worker(folder, false);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->descriptors(), (std::set<int>{0, 1, 2, 3, 4, 6}));
}

TEST_F(LaunchTest, EnvironmentComesAlongWithoutTheWorkersOwnVariable) {
  ::setenv("ANELANE_WORKER", kFake, 1);
  ::setenv("ANELANE_WORKER_NOT_THIS", "x", 1);
  ::setenv("KEEP_ME", "y", 1);
  const TempFolder folder;
  const Result<Report> report = report_of_worker(folder, false);
  ::unsetenv("ANELANE_WORKER");
  ::unsetenv("ANELANE_WORKER_NOT_THIS");
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->lines.count(std::string("env ANELANE_WORKER=") + kFake));
  EXPECT_TRUE(report->lines.count("env ANELANE_WORKER_NOT_THIS=x"));
  EXPECT_TRUE(report->lines.count("env KEEP_ME=y"));
}

TEST_F(LaunchTest, HostSignalStateDoesNotReachTheWorkerAndIsRestored) {
  sigset_t some, after;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGUSR1);
  ::sigaddset(&some, SIGTERM);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &some, nullptr), 0);
  ::signal(SIGUSR2, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  const TempFolder folder;
  const Result<Report> report = report_of_worker(folder, false);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal)
    EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&some, signal)) << signal;
  ::pthread_sigmask(SIG_UNBLOCK, &some, nullptr);
  struct sigaction usr2 {};
  ::sigaction(SIGUSR2, nullptr, &usr2);
  EXPECT_EQ(usr2.sa_handler, SIG_IGN) << "the child's resets must not be ours";
  ::signal(SIGUSR2, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->lines.count("blocked 0"));
  EXPECT_TRUE(report->lines.count("ignored 0"));
}

// ---- hosts of every habit ----

int launch_kill_and_confirm(std::FILE* notes, const char* habit) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake(habit));
  if (!launched.ok()) {
    std::fprintf(notes, "launch: %s\n", launched.status().message().c_str());
    return 1;
  }
  const pid_t pid = (*launched)->pid();
  if ((*launched)->exited()) return 2;
  (*launched)->kill();
  if (!eventually([&] { return (*launched)->exited(); })) return 3;
  if (state_of(pid) != '\0') {
    std::fprintf(notes, "state %c\n", state_of(pid));
    return 4;
  }
  std::fprintf(notes, "%s\n", (*launched)->how_it_ended().c_str());
  return 0;
}

TEST_F(LaunchTest, HostThatIgnoresSigchld) {
  std::string said;
  EXPECT_EQ(in_own_process(
                [](std::FILE* notes) {
                  ::signal(SIGCHLD, SIG_IGN);
                  return launch_kill_and_confirm(notes, "ignores_everything");
                },
                &said),
            0)
      << said;
  EXPECT_NE(said.find("how is not known"), std::string::npos) << said;
}

TEST_F(LaunchTest, HostThatReapsAllChildren) {
  std::string said;
  EXPECT_EQ(in_own_process(
                [](std::FILE* notes) {
                  std::thread([] {
                    for (;;)
                      if (::waitpid(-1, nullptr, 0) < 0) ::usleep(200);
                  }).detach();
                  for (int i = 0; i < 20; ++i)
                    if (const int code = launch_kill_and_confirm(notes, "ignores_everything"); code != 0)
                      return code;
                  // One that dies before HELLO, reaped under our eyes (then its exit code is not known) or
                  // not.
                  const Code code = launch_worker(fake("dies_unheard")).status().code();
                  return code == Code::kEngineCrashed || code == Code::kEngineUnavailable ? 0 : 9;
                },
                &said),
            0)
      << said;
}

TEST_F(LaunchTest, HostWithItsStandardStreamsClosed) {
  const TempFolder folder;
  std::string said;
  EXPECT_EQ(in_own_process(
                [&](std::FILE* notes) {
                  for (int fd = 0; fd < 3; ++fd) ::close(fd);
                  const Result<Report> report = report_of_worker(folder, true);
                  if (!report.ok()) {
                    std::fprintf(notes, "%s\n", report.status().message().c_str());
                    return 1;
                  }
                  if (report->descriptors() != std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}) return 2;
                  // While everything of a lane is open: whatever is at 0, 1 or 2, the host prints into.
                  LaunchOptions options = fake("ignores_everything");
                  options.arena = *Arena::create(4096);
                  const Result<LaneLock> lock = LaneLock::acquire(folder.path(), 0);
                  const Result<std::unique_ptr<WorkerHandle>> worker = launch_worker(options);
                  if (!lock.ok() || !worker.ok()) return 3;
                  for (int fd = 0; fd < 3; ++fd)
                    if (::fcntl(fd, F_GETFD) >= 0) return 4;
                  return launch_kill_and_confirm(notes, "ignores_everything");
                },
                &said),
            0)
      << said;
}

TEST_F(LaunchTest, HostWithTenThousandDescriptors) {
  const TempFolder folder;
  std::string said;
  EXPECT_EQ(in_own_process(
                [&](std::FILE* notes) {
                  rlimit files{};
                  ::getrlimit(RLIMIT_NOFILE, &files);
                  files.rlim_cur = files.rlim_max;
                  ::setrlimit(RLIMIT_NOFILE, &files);
                  const int source = ::open("/etc/passwd", O_RDONLY);
                  int last = source;
                  for (int i = 0; i < 10'000; ++i)
                    if (const int fd = ::dup(source); fd >= 0) last = fd;  // inheritable, every one
                  std::fprintf(notes, "last descriptor %d\n", last);
                  const Result<Report> report = report_of_worker(folder, true);
                  if (!report.ok()) {
                    std::fprintf(notes, "%s\n", report.status().message().c_str());
                    return 1;
                  }
                  return report->descriptors() == std::set<int>{0, 1, 2, 3, 4, 5, 6, 7} ? 0 : 2;
                },
                &said),
            0)
      << said;
}

TEST_F(LaunchTest, HostWithoutAnyDescriptorLeftIsToldSo) {
  std::string said;
  EXPECT_EQ(in_own_process(
                [](std::FILE* notes) {
                  const auto open = static_cast<rlim_t>(open_files(::getpid()).size());
                  // Wherever on the way it runs out, that is what is said, and nothing about the system.
                  for (rlim_t left = 0; left < 64; ++left) {
                    rlimit files{};
                    ::getrlimit(RLIMIT_NOFILE, &files);
                    files.rlim_cur = open + left;
                    ::setrlimit(RLIMIT_NOFILE, &files);
                    const Status status = launch_worker(fake("ends_when_closed")).status();
                    if (status.ok()) return left == 0 ? 1 : 0;
                    if (!mentions(status, "Too many open files") || mentions(status, "Linux 5.4") ||
                        !status.detail().transient) {  // L6.4: there may be more another time
                      std::fprintf(notes, "%s\n", status.message().c_str());
                      return 2 + static_cast<int>(left);
                    }
                  }
                  return 99;  // where is there enough?
                },
                &said),
            0)
      << said;
}

TEST_F(LaunchTest, ForkedChildOfTheHostCannotHarmTheWorker) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake("ends_when_closed"));
  ASSERT_TRUE(launched.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const bool claimed = (*launched)->exited();
    (*launched)->kill();
    (*launched)->close_streams();
    launched->reset();
    ::_exit(claimed ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE((*launched)->exited());
  EXPECT_TRUE(send_frame((*launched)->stream_fd(), {FrameType::kPing, 1, ""}, now_ns() + 1000 * kMs).ok());
}

TEST_F(LaunchTest, CloseReachesTheWorkerThoughAForkedChildHoldsTheStream) {
  Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(fake("ends_when_closed"));
  ASSERT_TRUE(launched.ok());
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  (*launched)->close_streams();
  EXPECT_TRUE(eventually([&] { return (*launched)->exited(); }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(LaunchTest, TwoHundredLaunchesLeaveNothing) {
  for (int i = 0; i < 200; ++i) {
    const Result<std::unique_ptr<WorkerHandle>> launched =
        launch_worker(fake(i % 2 == 0 ? "ends_when_closed" : "dies_unheard"));
    ASSERT_EQ(launched.ok(), i % 2 == 0);
  }
}

}  // namespace
}  // namespace anelane::worker
