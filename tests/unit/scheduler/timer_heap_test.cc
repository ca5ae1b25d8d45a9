// Timers: order by time, class and arming; cancelling; handles that are used again.
#include "scheduler/timer_heap.h"

#include <gtest/gtest.h>

#include <map>

namespace anelane::sched {
namespace {

void* subject(size_t n) {
  return reinterpret_cast<void*>(n + 1);
}

TEST(TimerHeap, FiresByTimeThenClassThenOrderOfArming) {
  TimerHeap heap;
  heap.arm(20, TimerClass::kBound, subject(0));
  heap.arm(10, TimerClass::kBound, subject(1));
  heap.arm(10, TimerClass::kHandoff, subject(2));
  heap.arm(10, TimerClass::kBound, subject(3));
  EXPECT_EQ(heap.next(), 10);
  std::vector<void*> fired;
  TimerHeap::Fired f{};
  while (heap.pop(20, &f)) fired.push_back(f.subject);
  EXPECT_EQ(fired, (std::vector<void*>{subject(2), subject(1), subject(3), subject(0)}));
  EXPECT_EQ(heap.next(), kNever);
}

TEST(TimerHeap, NothingFiresBeforeItsTime) {
  TimerHeap heap;
  heap.arm(10, TimerClass::kBound, subject(0));
  TimerHeap::Fired f{};
  EXPECT_FALSE(heap.pop(9, &f));
  EXPECT_TRUE(heap.pop(10, &f));
}

TEST(TimerHeap, AgreesWithASortedMapUnderRandomArmingAndCancelling) {
  TimerHeap heap;
  std::map<std::pair<Time, size_t>, TimerHeap::Handle> model;
  uint64_t x = 1;
  const auto draw = [&](uint64_t n) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    return (x >> 33) % n;
  };
  for (size_t i = 0; i < 20'000; ++i) {
    const uint64_t what = draw(4);
    if (what < 2) {
      const Time due = static_cast<Time>(draw(500));
      model[{due, i}] = heap.arm(due, TimerClass::kBound, subject(i));
    } else if (!model.empty() && what == 2) {
      auto it = std::next(model.begin(), static_cast<std::ptrdiff_t>(draw(model.size())));
      heap.cancel(it->second);
      EXPECT_EQ(it->second, TimerHeap::kNone);
      model.erase(it);
    } else if (!model.empty()) {
      TimerHeap::Fired f{};
      ASSERT_TRUE(heap.pop(kNever, &f));
      ASSERT_EQ(f.subject, subject(model.begin()->first.second));
      model.erase(model.begin());
    }
    ASSERT_EQ(heap.size(), model.size());
    ASSERT_EQ(heap.next(), model.empty() ? kNever : model.begin()->first.first);
  }
}

}  // namespace
}  // namespace anelane::sched
