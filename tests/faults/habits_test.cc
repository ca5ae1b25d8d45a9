// Hosts of every habit (habits.cc), seen from outside: how each ends, and that the next process gets the lane
// within a second and finds nobody. A host without standard streams is in tests/abi/stdio_test.c; the same
// habits below the lane are in tests/unit/worker/launch_test.cc.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "habits.h"
#include "host.h"
#include "host_process.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"

namespace faults {
namespace {

constexpr uint64_t kFreeMs = 1'000;   // L1.4
constexpr uint64_t kSlackMs = 4'000;  // of a busy machine

class Habits : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok()); }
  void TearDown() override { EXPECT_TRUE(nobody_left(kFreeMs + kSlackMs)) << "a process was left behind"; }
  std::vector<std::string> words(const char* habit) const {
    return {"--host", habit, place_.lane, place_.cache, place_.model};
  }
  // Takes the lane as the next process would, and says after how long.
  void expect_free(const char* habit) const {
    const uint64_t start = anelane_now_ns();
    const anelane_lane_options options = options_in(place_);
    anelane_lane lane = {};
    anelane_error err = new_error();
    ASSERT_EQ(anelane_lane_open(&options, in_ms(kFreeMs + kSlackMs), &lane, &err), ANELANE_OK)
        << text_of(err);
    std::printf("%s: the lane was free after %llu ms\n", habit,
                static_cast<unsigned long long>(ms_since(start)));
    close_lane(lane);
  }
  void expect_end(const char* habit, int code) const {
    HostProcess host(words(habit));
    const int status = host.wait_for_end(kBoundMs);
    ASSERT_NE(status, -1) << "it does not end";
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << ": " << host.said();
    EXPECT_EQ(WEXITSTATUS(status), code) << host.said();
    expect_free(habit);
  }
  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
};

TEST_F(Habits, ReapsAllChildren) {
  expect_end("reaps_all_children", 0);
}
TEST_F(Habits, IgnoresSigchld) {
  expect_end("ignores_sigchld", 0);
}
TEST_F(Habits, ItsOwnChildrenStayItsOwn) {
  expect_end("waits_for_its_own", 0);
}
TEST_F(Habits, NoneOfTenThousandDescriptorsReachesTheWorker) {
  expect_end("has_many_descriptors", 0);
}
TEST_F(Habits, F64_F68_AForkedChildExits) {
  expect_end("forked_child_exits", 0);
}
TEST_F(Habits, F68_ExitsInACallback) {
  expect_end("exits_in_a_callback", kInCallback);
}
TEST_F(Habits, F68_LeavesByQuickExit) {
  expect_end("leaves_by_quick_exit", kQuick);
}
TEST_F(Habits, F68_ExitsWhileOtherThreadsAreInCalls) {
  for (int i = 0; i < 5; ++i) expect_end("exits_under_load", kUnderLoad);
}

TEST_F(Habits, L1_4_F73_KilledWhileItsForkedChildrenLive) {
  HostProcess host(words("forks_workers_of_its_own"));
  ASSERT_TRUE(host.has_said("ready", kBoundMs));
  host.kill();
  expect_free("forks_workers_of_its_own");
  // Its forked children have become ours, and only they are left.
  EXPECT_TRUE(becomes_true(kFreeMs + kSlackMs,
                           [&] {
                             while (::waitpid(-1, nullptr, WNOHANG) > 0) {
                             }
                             return children().size() == kForked;
                           }))
      << children().size() << " are left";
  for (const pid_t pid : children()) ::kill(pid, SIGKILL);
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--host")
    return faults::live(argv[2], {argv[3], argv[4], argv[5]});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
