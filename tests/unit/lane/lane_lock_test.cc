// The lane lock with real processes: who is told what, and what keeps the lane busy.
#include "lane/lane_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "lane/lane_record.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

constexpr uint64_t kMs = 1'000'000;

// A child process that does `work`, then waits for its end; killed at the end of the scope.
class Child {
 public:
  template <class Work>
  explicit Child(const Work& work) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      work();
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1) << "the child did not get ready";
    ::close(ready[0]);
  }
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class LaneLockTest : public testing::Test {
 protected:
  const std::string& folder() const { return folder_.path(); }
  TempFolder folder_;
};

TEST_F(LaneLockTest, L1_1_FreeLaneIsTakenAndRecorded) {
  Result<LaneLock> lock = LaneLock::acquire(folder(), 0);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_GE(lock->fd(), 3);
  EXPECT_TRUE(::fcntl(lock->fd(), F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(lock->path(), folder() + "/lane.lock");
  const Result<LaneHolder> holder = lane_holder(folder());
  ASSERT_TRUE(holder.ok());
  EXPECT_TRUE(holder->held);
  EXPECT_FALSE(holder->record_stale);
  EXPECT_EQ(holder->pid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(holder->program, "lane_lock_test");
  EXPECT_NEAR(static_cast<double>(holder->since_unix_ms), static_cast<double>(unix_ms()), 60'000);
}

// Takes the lane and keeps it for the life of the process.
void hold(const std::string& folder) {
  Result<LaneLock> lock = LaneLock::acquire(folder, 0);
  if (!lock.ok()) ::_exit(1);
  (void)new LaneLock(*std::move(lock));
}

TEST_F(LaneLockTest, L1_3_SecondIsToldBusyAtOnceWithHolderPidAndProgram) {
  const Child holder([&] { hold(folder()); });
  const uint64_t start = now_ns();
  const Result<LaneLock> second = LaneLock::acquire(folder(), 0);
  EXPECT_LT(now_ns() - start, 1000 * kMs);
  ASSERT_EQ(second.status().code(), Code::kLaneBusy);
  EXPECT_EQ(second.status().detail().holder_pid, static_cast<uint32_t>(holder.pid()));
  EXPECT_NE(second.status().message().find("lane_lock_test"), std::string::npos) << second.status().message();
  EXPECT_NE(second.status().message().find("since 20"), std::string::npos) << second.status().message();
}

TEST_F(LaneLockTest, L1_3_WaitEndsAtTheDeadline) {
  const Child holder([&] { hold(folder()); });
  const uint64_t start = now_ns();
  const Result<LaneLock> second = LaneLock::acquire(folder(), start + 120 * kMs);
  EXPECT_EQ(second.status().code(), Code::kLaneBusy);
  EXPECT_GE(now_ns() - start, 120 * kMs);
  EXPECT_LT(now_ns() - start, 5000 * kMs);
}

TEST_F(LaneLockTest, L1_3_WaiterGetsTheLaneWhenItBecomesFree) {
  auto holder = std::make_unique<Child>([&] { hold(folder()); });
  std::thread ender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    holder->end();
  });
  const Result<LaneLock> second = LaneLock::acquire(folder(), now_ns() + 20'000 * kMs);
  ender.join();
  EXPECT_TRUE(second.ok()) << second.status().message();
}

TEST_F(LaneLockTest, L1_3_WaitCanBeCancelled) {
  const Child holder([&] { hold(folder()); });
  std::atomic<int> asked{0};
  const Result<LaneLock> second =
      LaneLock::acquire(folder(), now_ns() + 60'000 * kMs, [&] { return ++asked == 3; });
  EXPECT_EQ(second.status().code(), Code::kCancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(LaneLockTest, F71_KilledHolderFreesTheLane) {
  Child holder([&] { hold(folder()); });
  holder.end();
  const uint64_t start = now_ns();
  const Result<LaneLock> next = LaneLock::acquire(folder(), 0);
  EXPECT_TRUE(next.ok()) << next.status().message();
  EXPECT_LT(now_ns() - start, 1000 * kMs);
  EXPECT_EQ(lane_holder(folder())->pid, static_cast<uint32_t>(::getpid()));
}

TEST_F(LaneLockTest, S062_ChildThatInheritedTheLockKeepsTheLaneBusy) {
  Result<LaneLock> lock = LaneLock::acquire(folder(), 0);
  ASSERT_TRUE(lock.ok());
  const std::string path = lock->path();
  // A program with the lock as its standard input, as a worker has it as one of its descriptors.
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(lock->fd(), 0);
    ::close(lock->fd());
    ::execl("/bin/sleep", "sleep", "600", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  EXPECT_EQ(LaneLock::acquire(folder(), 0).status().code(), Code::kLaneBusy);
  lock->close();
  EXPECT_EQ(LaneLock::acquire(folder(), 0).status().code(), Code::kLaneBusy) << "the child still has it";
  EXPECT_TRUE(lane_holder(folder())->held);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const Result<LaneLock> again = LaneLock::acquire(folder(), 0);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->path(), path);
}

TEST_F(LaneLockTest, L1_3_DeadOwnerWithALivingWorkerIsNamedAsSuch) {
  pid_t worker = 0;
  pid_t owner_pid = 0;
  {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    Child owner([&] {
      hold(folder());
      const pid_t inner = ::fork();
      if (inner == 0)
        for (;;) ::pause();
      (void)!::write(pipe_ends[1], &inner, sizeof inner);
    });
    ASSERT_EQ(::read(pipe_ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    owner_pid = owner.pid();
  }
  const Result<LaneHolder> holder = lane_holder(folder());
  EXPECT_TRUE(holder->held);
  EXPECT_TRUE(holder->record_stale);
  EXPECT_EQ(holder->pid, static_cast<uint32_t>(owner_pid));
  const Status busy = LaneLock::acquire(folder(), 0).status();
  EXPECT_EQ(busy.code(), Code::kLaneBusy);
  EXPECT_NE(busy.message().find("which has ended"), std::string::npos) << busy.message();
  ::kill(worker, SIGKILL);
  EXPECT_TRUE(LaneLock::acquire(folder(), now_ns() + 10'000 * kMs).ok());
}

TEST_F(LaneLockTest, RecordOfAReusedPidIsStale) {
  LaneRecord record = record_of_this_process();
  EXPECT_TRUE(is_alive(record));
  ASSERT_NE(record.start, 0u);
  record.start += 1;
  EXPECT_FALSE(is_alive(record));
}

TEST_F(LaneLockTest, UnreadableRecordsAreAdviceOnly) {
  const Result<LaneLock> lock = LaneLock::acquire(folder(), 0);
  ASSERT_TRUE(lock.ok());
  for (const char* text : {"", "{", "[]", "{\"pid\":-1}", "{\"pid\":\"x\"}", "{\"pid\":99999999999}"}) {
    ASSERT_TRUE(write_file_atomic(folder() + "/lane.json", std::string_view(text)).ok());
    const Result<LaneHolder> holder = lane_holder(folder());
    EXPECT_TRUE(holder->held) << text;
    EXPECT_TRUE(holder->record_stale) << text;
    EXPECT_EQ(LaneLock::acquire(folder(), 0).status().code(), Code::kLaneBusy) << text;
  }
}

TEST_F(LaneLockTest, LookingNeverDisturbsWhoTakesTheLane) {
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    while (!stop) EXPECT_TRUE(lane_holder(folder()).ok());
  });
  for (int i = 0; i < 200; ++i) {
    const Result<LaneLock> lock = LaneLock::acquire(folder(), 0);
    EXPECT_TRUE(lock.ok()) << i << ": " << lock.status().message();
  }
  stop = true;
  looker.join();
}

TEST_F(LaneLockTest, NobodyHoldsALaneThatWasNeverOpened) {
  EXPECT_FALSE(lane_holder(folder())->held);
  EXPECT_FALSE(lane_holder(folder() + "/nowhere")->held);
  EXPECT_NE(::access((folder() + "/lane.lock").c_str(), F_OK), 0) << "looking must not create anything";
}

TEST_F(LaneLockTest, LookingCreatesAndChangesNothing) {
  const std::string none = folder() + "/none/below";
  EXPECT_EQ(*find_lane_folder(none), none);
  EXPECT_NE(::access((folder() + "/none").c_str(), F_OK), 0);
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  EXPECT_EQ(*find_lane_folder(folder()), std::filesystem::canonical(folder()).string());
  struct stat st {};
  ASSERT_EQ(::stat(folder().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777u, 0755u);
}

TEST_F(LaneLockTest, AFullDiskCostsTheRecordAndLeavesNothingOfIt) {
  const auto in_child = [&] {
    const rlimit nothing{0, 0};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &nothing);
    const Result<LaneLock> lock = LaneLock::acquire(folder(), 0);
    if (!lock.ok()) return 1;  // a record is advice only
    for (const char* name : {"/lane.json", "/lane.json.next"})
      if (::access((folder() + name).c_str(), F_OK) == 0) return 2;
    return write_lane_record(folder(), record_of_this_process()).ok() ? 3 : 0;
  };
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(in_child());
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(LaneLockTest, LockFileIsNotFollowedThroughASymlink) {
  ASSERT_EQ(::symlink("/dev/null", (folder() + "/lane.lock").c_str()), 0);
  EXPECT_EQ(LaneLock::acquire(folder(), 0).status().code(), Code::kIo);
}

TEST_F(LaneLockTest, RemovedLockFileIsMadeAnew) {
  { const Result<LaneLock> lock = LaneLock::acquire(folder(), 0); }
  ASSERT_EQ(::unlink((folder() + "/lane.lock").c_str()), 0);
  EXPECT_TRUE(LaneLock::acquire(folder(), 0).ok());
}

TEST(LaneFolder, L1_5_CreatesAPrivateFolder) {
  const TempFolder top;
  const Result<std::string> folder = lane_folder(top.file("a") + "/b/");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  struct stat st {};
  ASSERT_EQ(::stat(folder->c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777u, 0700u);
  EXPECT_EQ(folder->back(), 'b');
}

TEST(LaneFolder, L1_5_PutsTheModeOfItsOwnFolderRight) {
  const TempFolder top;
  const std::string folder = top.file("lane");
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  ASSERT_TRUE(lane_folder(folder).ok());
  struct stat st {};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777u, 0700u);
}

TEST(LaneFolder, L1_5_LeavesTheModeOfAFolderWithOtherFilesAlone) {
  const TempFolder top;
  const std::string folder = top.file("home");
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  ASSERT_TRUE(write_file_atomic(folder + "/diary", std::string_view("x")).ok());
  const Result<std::string> refused = lane_folder(folder);
  EXPECT_EQ(refused.status().code(), Code::kIo);
  EXPECT_NE(refused.status().message().find("0755"), std::string::npos) << refused.status().message();
  struct stat st {};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777u, 0755u);
}

TEST(LaneFolder, L1_5_RefusesASymlink) {
  const TempFolder top;
  ASSERT_EQ(::mkdir(top.file("real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink(top.file("real").c_str(), top.file("link").c_str()), 0);
  for (const char* end : {"", "/", "//"}) {
    const Result<std::string> refused = lane_folder(top.file("link") + end);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().message().find("symlink"), std::string::npos) << refused.status().message();
    EXPECT_NE(refused.status().message().find(top.file("link")), std::string::npos);
  }
}

TEST(LaneFolder, L1_5_RefusesAFolderOfAnotherUser) {
  const TempFolder top;
  const std::string folder = top.file("theirs");
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  }
  const Result<std::string> refused = lane_folder(::geteuid() == 0 ? folder : std::string("/"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("belongs to user"), std::string::npos)
      << refused.status().message();
}

TEST(LaneFolder, L1_5_RefusesAFileInItsPlace) {
  const TempFolder top;
  ASSERT_TRUE(write_file_atomic(top.file("lane"), std::string_view("x")).ok());
  EXPECT_EQ(lane_folder(top.file("lane")).status().code(), Code::kIo);
}

TEST(LaneFolder, L1_5_KnowsNetworkFileSystems) {
  EXPECT_STREQ(network_file_system(0x6969), "NFS");
  EXPECT_STREQ(network_file_system(0xFF534D42), "SMB");
  EXPECT_STREQ(network_file_system(0x01021997), "9P");
  EXPECT_EQ(network_file_system(0xEF53), nullptr) << "ext4";
  EXPECT_EQ(network_file_system(0x01021994), nullptr) << "tmpfs";
  EXPECT_EQ(network_file_system(0x9123683E), nullptr) << "btrfs";
  EXPECT_EQ(network_file_system(0x794C7630), nullptr) << "overlayfs";
  EXPECT_TRUE(is_network_fuse("fuse.sshfs"));
  EXPECT_FALSE(is_network_fuse("fuse.fuse-overlayfs"));
  EXPECT_FALSE(is_network_fuse("fuseblk"));
}

TEST(LaneFolder, L1_5_DefaultIsPerUser) {
  const TempFolder top;
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", top.path().c_str(), 1), 0);
  const Result<std::string> folder = lane_folder("");
  ::unsetenv("XDG_CACHE_HOME");
  ASSERT_TRUE(folder.ok()) << folder.status().message();
  const std::string runtime = "/run/user/" + std::to_string(::geteuid());
  const std::string real_top = std::filesystem::canonical(top.path()).string();
  EXPECT_TRUE(*folder == runtime + "/anelane" || *folder == real_top + "/anelane") << *folder;
}

// The lock's default place may be memory; what was compiled should be there after a restart.
TEST(LaneFolder, CompiledProgramsSurviveARestartUnlessTheLaneHasAFolderOfItsOwn) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "/caches", 1), 0);
  EXPECT_EQ(program_cache_folder("", "/run/user/7/anelane"), "/caches/anelane/programs");
  EXPECT_EQ(program_cache_folder("/mine", "/mine"), "/mine/programs");
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "relative", 1), 0);  // is to be ignored, says the standard
  const char* home = ::getenv("HOME");
  const std::string before = home != nullptr ? home : "";
  ASSERT_EQ(::setenv("HOME", "/home/me", 1), 0);
  EXPECT_EQ(program_cache_folder("", "/run/user/7/anelane"), "/home/me/.cache/anelane/programs");
  ::unsetenv("XDG_CACHE_HOME");
  if (home != nullptr) ::setenv("HOME", before.c_str(), 1);
}

TEST(LaneFolder, TwoSpellingsOfOneFolderGiveOneName) {
  const TempFolder top;
  ASSERT_EQ(::mkdir(top.file("x").c_str(), 0700), 0);
  const Result<std::string> plain = lane_folder(top.file("lane"));
  const Result<std::string> devious = lane_folder(top.file("x") + "/..//lane/");
  ASSERT_TRUE(plain.ok() && devious.ok());
  EXPECT_EQ(*plain, *devious);
}

}  // namespace
}  // namespace anelane
