// The ticket table: found by id, gone after removal, under collisions and growth.
#include "scheduler/ticket.h"

#include <gtest/gtest.h>

#include <map>

namespace anelane::sched {
namespace {

TEST(TicketTable, AgreesWithAMapUnderRandomUse) {
  TicketTable table;
  std::map<TicketId, Ticket*> model;
  uint64_t x = 7;
  for (int i = 0; i < 50'000; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    const TicketId id = (x >> 40) % 3000 + 1;
    const auto it = model.find(id);
    ASSERT_EQ(table.find(id), it == model.end() ? nullptr : it->second);
    if ((x >> 20 & 1) != 0) {
      Ticket* t = table.add(id);
      ASSERT_EQ(t == nullptr, it != model.end());
      if (t != nullptr) model[id] = t;
    } else if (it != model.end()) {
      table.remove(it->second);
      model.erase(it);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(TicketList, KeepsTheOrderOfJoining) {
  Ticket a, b, c;
  TicketList list;
  list.push_back(&a);
  list.push_back(&b);
  list.push_back(&c);
  list.remove(&b);
  EXPECT_EQ(list.first(), &a);
  EXPECT_EQ(a.next, &c);
  list.remove(&a);
  EXPECT_EQ(list.first(), &c);
  EXPECT_EQ(list.size(), 1u);
}

}  // namespace
}  // namespace anelane::sched
