#include "lane/completions.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>

#include "lane/operation.h"

namespace anelane {
namespace {

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST(Completions, EventDescriptorIsReadableExactlyWhileSomethingIsQueued) {
  auto completions = *Completions::create();
  EXPECT_FALSE(readable(completions->event_fd()));
  EXPECT_EQ(completions->take(), nullptr);
  for (int round = 0; round < 3; ++round) {
    completions->queue(nullptr);
    completions->queue(nullptr);
    EXPECT_TRUE(readable(completions->event_fd()));
    completions->take();
    EXPECT_TRUE(readable(completions->event_fd()));
    completions->take();
    EXPECT_FALSE(readable(completions->event_fd()));
  }
}

TEST(Completions, CallbacksRunInOrderOnTheCompletionThreadAndAllBeforeStopReturns) {
  auto completions = *Completions::create();
  ASSERT_TRUE(completions->ensure_thread().ok());
  ASSERT_TRUE(completions->ensure_thread().ok());
  std::vector<int> seen;
  for (int i = 0; i < 1000; ++i)
    completions->call([&seen, i] {
      EXPECT_TRUE(Completions::in_callback());
      seen.push_back(i);
    });
  completions->stop();
  EXPECT_FALSE(Completions::in_callback());
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace anelane
