#include "lane/lease_book.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace anelane {
namespace {

TEST(LeaseBook, L3_2_ReleaseIsIdempotentPerHandle) {
  LeaseBook book;
  book.prepare();
  const auto first = book.take(7, 0);
  ASSERT_LT(first.index, LeaseBook::kRecords);
  uint32_t epoch = 0;
  int32_t bay = 0;
  EXPECT_TRUE(book.give_back(first.index, first.generation, &epoch, &bay));
  EXPECT_EQ(epoch, 7u);
  EXPECT_EQ(bay, -1);
  EXPECT_FALSE(book.give_back(first.index, first.generation, &epoch, &bay));
  const auto second = book.take(8, 0);
  EXPECT_EQ(second.index, first.index);
  EXPECT_NE(second.generation, first.generation);
  EXPECT_FALSE(book.give_back(first.index, first.generation, &epoch, &bay))
      << "a stale handle must not end the next lease";
  EXPECT_NE(book.find(second.index, second.generation), nullptr);
}

TEST(LeaseBook, AllRecordsAreUsedThenNoneIsLeft) {
  LeaseBook book;
  book.prepare();
  std::set<uint32_t> indices;
  for (uint32_t i = 0; i < LeaseBook::kRecords; ++i) indices.insert(book.take(1, 0).index);
  EXPECT_EQ(indices.size(), LeaseBook::kRecords);
  EXPECT_EQ(*indices.rbegin(), LeaseBook::kRecords - 1);
  EXPECT_EQ(book.take(1, 0).index, LeaseBook::kRecords);
}

TEST(LeaseBook, ForgedIdsFindNothing) {
  LeaseBook empty;
  uint32_t epoch;
  int32_t bay;
  EXPECT_EQ(empty.find(0, 1), nullptr);
  EXPECT_FALSE(empty.give_back(0, 1, &epoch, &bay));
  LeaseBook book;
  book.prepare();
  EXPECT_EQ(book.find(LeaseBook::kRecords, 1), nullptr);
  EXPECT_EQ(book.find(3, 5), nullptr);
}

TEST(LeaseBook, EveryLeaseIsGivenBackOnceUnderContention) {
  LeaseBook book;
  book.prepare();
  std::atomic<uint64_t> returned{0};
  constexpr int kThreads = 4, kRounds = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const auto lease = book.take(1, 0);
        ASSERT_LT(lease.index, LeaseBook::kRecords);
        uint32_t epoch;
        int32_t bay;
        if (book.give_back(lease.index, lease.generation, &epoch, &bay)) returned.fetch_add(1);
        ASSERT_FALSE(book.give_back(lease.index, lease.generation, &epoch, &bay));
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(returned.load(), static_cast<uint64_t>(kThreads) * kRounds);
  std::set<uint32_t> free;
  for (uint32_t i = 0; i < LeaseBook::kRecords; ++i) free.insert(book.take(1, 0).index);
  EXPECT_EQ(free.size(), LeaseBook::kRecords) << "no record was lost";
}

}  // namespace
}  // namespace anelane
