// The fast path word: leases against closing, epochs, wake-ups; also from several threads.
#include "scheduler/slot_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace anelane::sched {
namespace {

TEST(SlotGate, L3_3_AClosedOrHeldSlotIsNotLeased) {
  SlotGate gate;
  std::atomic<Time> now{5};
  EXPECT_EQ(gate.try_lease(now), 0u);
  gate.open(true);
  EXPECT_EQ(gate.try_lease(now), 0u);
  gate.set_hold(false);
  const SlotGate::Epoch epoch = gate.try_lease(now);
  EXPECT_NE(epoch, 0u);
  EXPECT_EQ(gate.last_use(), 5);
  EXPECT_FALSE(gate.close_if_unleased());
  EXPECT_FALSE(gate.release(epoch, now));
  EXPECT_TRUE(gate.close_if_unleased());
  EXPECT_EQ(gate.try_lease(now), 0u);
}

TEST(SlotGate, L3_2_AReleaseOfAnOlderLifeDoesNothing) {
  SlotGate gate;
  std::atomic<Time> now{0};
  gate.open(false);
  const SlotGate::Epoch old = gate.try_lease(now);
  gate.force_close();
  gate.open(false);
  const SlotGate::Epoch fresh = gate.try_lease(now);
  EXPECT_NE(old, fresh);
  gate.release(old, now);
  EXPECT_EQ(gate.leases(), 1u);
  EXPECT_FALSE(gate.valid(old));
  EXPECT_TRUE(gate.valid(fresh));
}

TEST(SlotGate, ADoubleReleaseDoesNotUnderflow) {
  SlotGate gate;
  std::atomic<Time> now{0};
  gate.open(false);
  const SlotGate::Epoch epoch = gate.try_lease(now);
  gate.release(epoch, now);
  gate.release(epoch, now);
  EXPECT_EQ(gate.leases(), 0u);
}

TEST(SlotGate, TheLastReleaseTellsWhenItWasAsked) {
  SlotGate gate;
  std::atomic<Time> now{0};
  gate.open(false);
  const SlotGate::Epoch epoch = gate.try_lease(now);
  gate.try_lease(now);
  EXPECT_TRUE(gate.ask_wake());
  EXPECT_FALSE(gate.release(epoch, now));
  EXPECT_TRUE(gate.release(epoch, now));
  EXPECT_FALSE(gate.ask_wake());
}

TEST(SlotGate, F33_LeasesRacingAnEvictionNeverMeetAClosedSlot) {
  SlotGate gate;
  std::atomic<Time> now{0};
  gate.open(false);
  std::atomic<bool> stop{false}, broken{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const SlotGate::Epoch epoch = gate.try_lease(now);
        if (epoch == 0) continue;
        if (!gate.valid(epoch)) broken = true;
        gate.release(epoch, now);
        std::this_thread::yield();
      }
    });
  }
  int closed = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (closed < 500 && std::chrono::steady_clock::now() < end) {
    if (!gate.close_if_unleased()) {
      std::this_thread::yield();
      continue;
    }
    ++closed;
    if (gate.leases() != 0) broken = true;
    gate.open(false);
  }
  stop = true;
  for (std::thread& t : callers) t.join();
  EXPECT_FALSE(broken);
  EXPECT_EQ(closed, 500);
}

}  // namespace
}  // namespace anelane::sched
