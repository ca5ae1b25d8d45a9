// L3.7: what was sent is told before anything that could lead to taking it back.
#include "lane/event_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace anelane {
namespace {

using sched::EventKind;

sched::Event event(EventKind kind, uint32_t rung) {
  sched::Event e;
  e.kind = kind;
  e.rung = rung;
  return e;
}

TEST(EventQueue, L3_7_TellsWhatWasSentFirstAndTheRestInOrder) {
  EventQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.push(event(EventKind::kFault, 0));
  queue.push(event(EventKind::kEvictionSent, 1));
  queue.push(event(EventKind::kRequest, 2));
  queue.push(event(EventKind::kAdmissionSent, 3));
  std::vector<uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop().rung);
  EXPECT_EQ(order, (std::vector<uint32_t>{1, 3, 0, 2}));
}

TEST(EventQueue, IsNotEmptyWhileOnlySentEventsWait) {
  EventQueue queue;
  queue.push(event(EventKind::kAdmissionSent, 0));
  EXPECT_FALSE(queue.empty());
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace anelane
