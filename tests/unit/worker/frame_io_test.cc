// Frames over sockets: deadlines, peers that are gone, and no signal (F67).
#include "worker/frame_io.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/descriptor_pairs.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

constexpr uint64_t kMs = 1'000'000;

DescriptorPair pair() {
  Result<DescriptorPair> made = make_socket_pair();
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

TEST(FrameIo, FramesCrossBothWays) {
  const DescriptorPair ends = pair();
  FrameReader reader;
  ASSERT_TRUE(send_frame(ends.ours.get(), {FrameType::kRun, 5, "abc"}, now_ns() + 1000 * kMs).ok());
  const Result<Frame> there = receive_frame(ends.theirs.get(), &reader, kNoDeadline);
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(there->body, "abc");
  ASSERT_TRUE(send_frame(ends.theirs.get(), {FrameType::kRan, 5, ""}, kNoDeadline).ok());
  FrameReader other;
  EXPECT_TRUE(receive_frame(ends.ours.get(), &other, now_ns() + 1000 * kMs).ok());
}

TEST(FrameIo, LargestFramePassesThroughASmallBuffer) {
  const DescriptorPair ends = pair();
  const Frame frame{FrameType::kEmbed, 5, std::string(limits::kFrameMax - 9, 'y')};
  std::thread sender([&] { EXPECT_TRUE(send_frame(ends.ours.get(), frame, now_ns() + 20'000 * kMs).ok()); });
  FrameReader reader;
  const Result<Frame> got = receive_frame(ends.theirs.get(), &reader, kNoDeadline);
  sender.join();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->body.size(), frame.body.size());
}

TEST(FrameIo, L6_5_WaitsEndAtTheDeadline) {
  const DescriptorPair ends = pair();
  FrameReader reader;
  const uint64_t start = now_ns();
  EXPECT_EQ(receive_frame(ends.ours.get(), &reader, start + 30 * kMs).status().code(),
            Code::kDeadlineExceeded);
  EXPECT_GE(now_ns() - start, 30 * kMs);
  const Frame big{FrameType::kEmbed, 5, std::string(1'000'000, 'y')};
  EXPECT_EQ(send_frame(ends.ours.get(), big, now_ns() + 30 * kMs).code(), Code::kDeadlineExceeded);
}

TEST(FrameIo, L6_5_TrickleOfBytesDoesNotExtendTheDeadline) {
  const DescriptorPair ends = pair();
  std::thread trickle([&] {
    for (int i = 0; i < 200; ++i) {
      (void)!::send(ends.theirs.get(), i == 0 ? "\xff\xff\0\0\x07" : "x", i == 0 ? 5 : 1, MSG_NOSIGNAL);
      ::usleep(1000);
    }
  });
  FrameReader reader;
  const uint64_t start = now_ns();
  EXPECT_EQ(receive_frame(ends.ours.get(), &reader, start + 50 * kMs).status().code(),
            Code::kDeadlineExceeded);
  EXPECT_LT(now_ns() - start, 5000 * kMs);
  trickle.join();
}

TEST(FrameIo, F67_WritingToADeadPeerRaisesNoSignal) {
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
  ASSERT_EQ(action.sa_handler, SIG_DFL) << "the test needs SIGPIPE at its default, which would end us";
  DescriptorPair ends = pair();
  ends.theirs.reset();
  EXPECT_EQ(send_frame(ends.ours.get(), {FrameType::kPing, 1, ""}, now_ns() + 100 * kMs).code(),
            Code::kEngineCrashed);
  FrameReader reader;
  EXPECT_EQ(receive_frame(ends.ours.get(), &reader, now_ns() + 100 * kMs).status().code(),
            Code::kEngineCrashed);
}

TEST(FrameIo, EndInTheMiddleOfAFrameIsSaid) {
  DescriptorPair ends = pair();
  ASSERT_EQ(::send(ends.theirs.get(), "\x20\0\0", 3, 0), 3);
  ends.theirs.reset();
  FrameReader reader;
  const Status status = receive_frame(ends.ours.get(), &reader, now_ns() + 100 * kMs).status();
  EXPECT_EQ(status.code(), Code::kEngineCrashed);
  EXPECT_NE(status.message().find("middle of a frame"), std::string::npos);
}

TEST(FrameIo, PollTimeoutRoundsUpAndClamps) {
  EXPECT_EQ(poll_timeout_ms(kNoDeadline), -1);
  EXPECT_EQ(poll_timeout_ms(0), 0);
  const uint64_t before = now_ns();
  const uint64_t timeout = static_cast<uint64_t>(poll_timeout_ms(before + 5000 * kMs - 1));
  const uint64_t gone = now_ns() - before;  // some of it, on a busy machine
  EXPECT_LE(timeout, 5000u);
  EXPECT_GE(timeout * kMs + gone, 5000 * kMs - 1) << "rounded down, after " << gone << " ns";
  EXPECT_EQ(poll_timeout_ms(kNoDeadline - 1), 2147483647);
}

TEST(DescriptorPairs, LogPipeNeverBlocksEitherEnd) {
  const Result<DescriptorPair> pipe = make_log_pipe();
  ASSERT_TRUE(pipe.ok());
  const std::string line(4000, 'x');
  ssize_t n = 0;
  for (int i = 0; i < 1000 && n >= 0; ++i) n = ::write(pipe->theirs.get(), line.data(), line.size());
  EXPECT_EQ(n, -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(DescriptorPairs, EndPipeReportsTheEnd) {
  Result<DescriptorPair> pipe = make_end_pipe();
  ASSERT_TRUE(pipe.ok());
  pollfd entry{pipe->ours.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  pipe->theirs.reset();
  EXPECT_EQ(::poll(&entry, 1, 0), 1);
}

}  // namespace
}  // namespace anelane::worker
