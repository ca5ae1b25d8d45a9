// The request loop behind its two sockets, in this process: every request one answer, errors are answers, and
// every way to end it ends it.
#include "worker/worker_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/limits.h"
#include "support/tiny_checkpoint.h"
#include "worker/descriptor_pairs.h"
#include "worker/protocol.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

constexpr uint64_t kMs = 1'000'000;

class WorkerLoop : public testing::Test {
 protected:
  void SetUp() override {
    DescriptorPair stream = *make_socket_pair(), control = *make_socket_pair();
    arena_ = *Arena::create(1 << 20);
    stream_ = stream.ours.release();
    control_ = control.ours.release();
    auto ends = std::make_shared<LoopEnds>();
    ends->stream = stream.theirs.release();
    ends->control = control.theirs.release();
    ends->arena = UniqueFd(::fcntl(arena_->fd(), F_DUPFD_CLOEXEC, 3));
    loop_ = std::thread([this, ends] {
      ended_with_ = run_worker_loop(std::move(*ends), false);
      ended_ = true;
    });
    init_.version = limits::kProtocolVersion;
    init_.nonce = "nonce";
    init_.engine = "soft";
    init_.cache_dir = folder_.file("cache");
    init_.temp_dir = folder_.path();
    init_.arena_bytes = arena_->size();
  }
  void TearDown() override {
    stream_.reset();
    control_.reset();
    join();
  }
  void join() {
    if (loop_.joinable()) loop_.join();
  }
  void send(FrameType type, uint64_t request, const std::string& body) {
    ASSERT_TRUE(send_frame(stream_.get(), {type, request, body}, now_ns() + 5000 * kMs).ok());
  }
  Frame receive() {
    Result<Frame> frame = receive_frame(stream_.get(), &reader_, now_ns() + 60'000 * kMs);
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    return frame.ok() ? *frame : Frame{FrameType::kStop, 0, ""};
  }
  Frame ask(FrameType type, const std::string& body) {
    send(type, ++request_, body);
    const Frame reply = receive();
    EXPECT_EQ(reply.request, request_);
    return reply;
  }
  static Status failed(const Frame& frame) {
    Status status;
    EXPECT_EQ(frame.type, FrameType::kFailed);
    EXPECT_TRUE(parse_failed(frame.body, &status).ok());
    return status;
  }
  void greet() { ASSERT_EQ(ask(FrameType::kInit, to_json(init_).dump()).type, FrameType::kHello); }

  TempFolder folder_;
  std::shared_ptr<Arena> arena_;
  UniqueFd stream_, control_;
  FrameReader reader_;
  InitBody init_;
  std::thread loop_;
  Status ended_with_;
  std::atomic<bool> ended_{false};
  uint64_t request_ = 100;
};

TEST_F(WorkerLoop, HelloRepeatsNonceAndTellsTheEngineThatRuns) {
  init_.engine = "auto";
  const Frame frame = ask(FrameType::kInit, to_json(init_).dump());
  const Result<HelloBody> hello = parse_hello(frame.body);
  ASSERT_TRUE(hello.ok()) << hello.status().message();
  EXPECT_EQ(hello->nonce, "nonce");
  EXPECT_EQ(hello->build, build_id());
  EXPECT_EQ(hello->engine, "soft");
  EXPECT_GT(hello->pool_limit, 0u);
}

TEST_F(WorkerLoop, EngineThatCannotBeHadIsRefusedAndEndsTheWorker) {
  init_.engine = "apple";
  const Status status = failed(ask(FrameType::kInit, to_json(init_).dump()));
  EXPECT_EQ(status.code(), Code::kEngineUnavailable);
  join();
  EXPECT_EQ(ended_with_.code(), Code::kEngineUnavailable);
}

TEST_F(WorkerLoop, OtherProtocolVersionIsRefused) {
  init_.version = 4;
  EXPECT_EQ(failed(ask(FrameType::kInit, to_json(init_).dump())).code(), Code::kProtocol);
  join();
}

TEST_F(WorkerLoop, UnknownEngineIsAnInvalidArgument) {
  init_.engine = "cuda";
  EXPECT_EQ(failed(ask(FrameType::kInit, to_json(init_).dump())).code(), Code::kInvalidArgument);
  join();
}

TEST_F(WorkerLoop, ArenaOfAnotherSizeIsRefused) {
  init_.arena_bytes += 4096;
  EXPECT_EQ(failed(ask(FrameType::kInit, to_json(init_).dump())).code(), Code::kProtocol);
  join();
}

TEST_F(WorkerLoop, FirstFrameMustBeInit) {
  EXPECT_EQ(failed(ask(FrameType::kEvict, "{\"shape\":128}")).code(), Code::kProtocol);
  join();
  EXPECT_EQ(ended_with_.code(), Code::kProtocol);
}

TEST_F(WorkerLoop, BadRequestsAreAnsweredAndTheLoopGoesOn) {
  greet();
  EXPECT_EQ(failed(ask(FrameType::kInit, to_json(init_).dump())).code(), Code::kProtocol)
      << "greeted already";
  EXPECT_EQ(failed(ask(FrameType::kHello, "")).code(), Code::kProtocol);
  EXPECT_EQ(failed(ask(FrameType::kAdmit, "{\"shape\":128}")).code(), Code::kInternal) << "no model";
  EXPECT_EQ(failed(ask(FrameType::kEvict, "{\"shape\":128}")).code(), Code::kInternal);
  EXPECT_EQ(failed(ask(FrameType::kAdmit, "{")).code(), Code::kProtocol);
  EXPECT_EQ(failed(ask(FrameType::kLoad, "{\"path\":5}")).code(), Code::kProtocol);
  EXPECT_EQ(failed(ask(FrameType::kEmbed, "abc")).code(), Code::kProtocol);
  EXPECT_EQ(failed(ask(FrameType::kRun, "")).code(), Code::kProtocol);
  const Status missing = failed(ask(FrameType::kLoad, to_json(LoadBody{"/nowhere", "", {}}).dump()));
  EXPECT_NE(missing.message().find("/nowhere"), std::string::npos) << missing.message();
  EXPECT_FALSE(ended_);
}

TEST_F(WorkerLoop, GarbageOnTheStreamIsAnsweredOnceAndEndsTheWorker) {
  greet();
  ASSERT_EQ(::send(stream_.get(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
  const Frame reply = receive();
  EXPECT_EQ(reply.request, 0u);
  EXPECT_EQ(failed(reply).code(), Code::kProtocol);
  join();
  EXPECT_EQ(ended_with_.code(), Code::kProtocol);
}

TEST_F(WorkerLoop, StopOnTheStreamEndsIt) {
  greet();
  send(FrameType::kStop, 0, "");
  join();
  EXPECT_TRUE(ended_with_.ok());
}

TEST_F(WorkerLoop, StopOnTheControlChannelWakesAnIdleLoop) {
  greet();
  ASSERT_TRUE(send_frame(control_.get(), {FrameType::kStop, 0, ""}, now_ns() + 1000 * kMs).ok());
  join();
  EXPECT_TRUE(ended_with_.ok());
}

TEST_F(WorkerLoop, EndOfTheControlChannelWakesAnIdleLoop) {
  greet();
  control_.reset();
  join();
  EXPECT_TRUE(ended_with_.ok());
}

TEST_F(WorkerLoop, EndOfTheStreamEndsItAlsoInTheMiddleOfAFrame) {
  greet();
  ASSERT_EQ(::send(stream_.get(), "\x20\0\0\0\x05", 5, MSG_NOSIGNAL), 5);
  stream_.reset();
  join();
  EXPECT_TRUE(ended_with_.ok());
}

TEST_F(WorkerLoop, HostThatLeavesBeforeInit) {
  stream_.reset();
  join();
  EXPECT_TRUE(ended_with_.ok());
}

TEST_F(WorkerLoop, PingIsAnsweredWhileIdle) {
  greet();
  FrameReader reader;
  // The greeting is answered a moment before the engine thread calls itself idle.
  uint64_t request = 9, busy_ms = 1;
  for (const uint64_t until = now_ns() + 5000 * kMs; busy_ms != 0 && now_ns() < until; ++request) {
    ASSERT_TRUE(send_frame(control_.get(), {FrameType::kPing, request, ""}, now_ns() + 1000 * kMs).ok());
    const Result<Frame> pong = receive_frame(control_.get(), &reader, now_ns() + 5000 * kMs);
    ASSERT_TRUE(pong.ok());
    EXPECT_EQ(pong->request, request);
    busy_ms = parse_pong(pong->body)->busy_ms;
  }
  EXPECT_EQ(busy_ms, 0u);
}

}  // namespace
}  // namespace anelane::worker
