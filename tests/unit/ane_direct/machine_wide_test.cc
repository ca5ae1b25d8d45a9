// What all processes of the machine share: one compile at a time, and the count of live programs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "ane_direct/soft/compile_gate.h"
#include "ane_direct/soft/program_pool.h"
#include "base/clock.h"
#include "soft_harness.h"

namespace anelane::soft {
namespace {

// A child that runs `body`, says so, and waits to be killed.
class Holder {
 public:
  template <class Body>
  explicit Holder(Body body) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      body([&] {
        (void)!::write(ready[1], "x", 1);
        for (;;) ::pause();
      });
      ::_exit(1);
    }
    char byte = 0;
    ::close(ready[1]);
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~Holder() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

TEST(CompileGate, OneAtATimeAlsoInsideAProcess) {
  const TempFolder folder;
  const CompileGate gate(folder.path()), other(folder.path());
  auto ticket = gate.enter(1000);
  ASSERT_TRUE(ticket.ok());
  const auto refused = other.enter(30);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourcesExhausted);
  EXPECT_NE(refused.status().message().find(folder.path()), std::string::npos);
  *ticket = CompileGate::Ticket();
  EXPECT_TRUE(other.enter(1000).ok());
}

TEST(CompileGate, ADeadHolderOpensIt) {
  const TempFolder folder;
  const CompileGate gate(folder.path());
  Holder holder([&](auto hold) {
    const auto ticket = gate.enter(1000);
    if (ticket.ok()) hold();
  });
  EXPECT_FALSE(gate.enter(30).ok());
  holder.kill();
  EXPECT_TRUE(gate.enter(1000).ok());
}

TEST(CompileGate, WaitsForTheHolder) {
  const TempFolder folder;
  const CompileGate gate(folder.path());
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto ticket = gate.enter(1000);
    ::usleep(100'000);
    ::_exit(ticket.ok() ? 0 : 1);
  }
  ::usleep(30'000);
  EXPECT_TRUE(gate.enter(5000).ok());
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(CompileGate, AnUnusableFolderDoesNotStopCompiles) {
  EXPECT_TRUE(CompileGate("/proc/nowhere").enter(10).ok());
}

TEST(ProgramPool, FullIsResourcesExhausted) {
  const TempFolder folder;
  const auto pool = ProgramPool::open(folder.path(), 3);
  auto a = pool->take(), b = pool->take(), c = pool->take();
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  const auto full = pool->take();
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.status().code(), Code::kResourcesExhausted);
  EXPECT_EQ(full.status().detail().limit, 3u);
  EXPECT_NE(full.status().message().find("underlying=0x5"), std::string::npos);
  *b = ProgramPool::Slot();
  EXPECT_TRUE(pool->take().ok());
}

TEST(ProgramPool, CountsOverEnginesAndProcessesAndForgetsTheDead) {
  const TempFolder folder;
  const auto pool = ProgramPool::open(folder.path(), 5), second = ProgramPool::open(folder.path(), 5);
  Holder holder([&](auto hold) {
    const auto mine = ProgramPool::open(folder.path(), 5);
    const auto a = mine->take(), b = mine->take();
    if (a.ok() && b.ok()) hold();
  });
  std::vector<ProgramPool::Slot> slots;
  for (int i = 0; i < 3; ++i) {
    auto slot = (i == 0 ? pool : second)->take();
    ASSERT_TRUE(slot.ok()) << i;
    slots.push_back(*std::move(slot));
  }
  EXPECT_FALSE(pool->take().ok());
  EXPECT_FALSE(second->take().ok());
  holder.kill();
  auto d = pool->take(), e = second->take();
  EXPECT_TRUE(d.ok() && e.ok());
  EXPECT_FALSE(pool->take().ok());
}

TEST(ProgramPool, ASlotOutlivesThePoolObject) {
  const TempFolder folder;
  auto pool = ProgramPool::open(folder.path(), 1);
  std::optional<ProgramPool::Slot> slot(*pool->take());
  pool.reset();
  const auto other = ProgramPool::open(folder.path(), 1);
  EXPECT_FALSE(other->take().ok());
  slot.reset();
  EXPECT_TRUE(other->take().ok());
}

TEST(ProgramPool, AnUnusableFolderStillCountsThisEngine) {
  const auto pool = ProgramPool::open("/proc/nowhere", 2);
  auto a = pool->take(), b = pool->take();
  EXPECT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(pool->take().ok());
}

}  // namespace
}  // namespace anelane::soft
