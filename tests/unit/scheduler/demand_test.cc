// Waiting tickets in two orders: the tree of bounds against a plain scan.
#include "scheduler/demand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace anelane::sched {
namespace {

TEST(Demand, BoundsAgreeWithAScanUnderRandomUse) {
  Demand demand;
  std::deque<Ticket> pool(400);
  std::vector<Ticket*> in, out;
  for (Ticket& t : pool) out.push_back(&t);
  uint64_t x = 3, order = 0;
  const auto draw = [&](uint64_t n) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    return (x >> 33) % n;
  };
  for (int i = 0; i < 20'000; ++i) {
    if (!out.empty() && (in.empty() || draw(2) == 0)) {
      const size_t k = draw(out.size());
      Ticket* t = out[k];
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
      t->bound = static_cast<Time>(draw(300));
      t->order = ++order;
      demand.join(t);
      in.push_back(t);
    } else {
      const size_t k = draw(in.size());
      demand.leave(in[k]);
      out.push_back(in[k]);
      in.erase(in.begin() + static_cast<std::ptrdiff_t>(k));
    }
    ASSERT_EQ(demand.size(), in.size());
    ASSERT_EQ(demand.first(), in.empty() ? nullptr : in.front());
    const Time from = static_cast<Time>(draw(300)), to = from + static_cast<Time>(draw(20));
    const bool within =
        std::any_of(in.begin(), in.end(), [&](Ticket* t) { return t->bound >= from && t->bound < to; });
    ASSERT_EQ(demand.bound_within(from, to), within);
    const Ticket* least = nullptr;
    for (const Ticket* t : in)
      if (t->bound < to && (least == nullptr || t->bound < least->bound)) least = t;
    const Ticket* found = demand.bound_before(to);
    ASSERT_EQ(found == nullptr, least == nullptr);
    if (least != nullptr) {
      ASSERT_EQ(found->bound, least->bound);
    }
  }
}

}  // namespace
}  // namespace anelane::sched
