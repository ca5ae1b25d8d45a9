// S032: the exchanges of a link whose channel broke. The worker is a double: this test holds the other end of
// its stream and decides what is answered, and when.
#include "lane/worker_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/descriptor_pairs.h"

namespace anelane {
namespace {

using worker::Frame;
using worker::FrameType;
constexpr uint64_t kBoundNs = 10'000'000'000;

// The channels of a worker, whose other ends go to the test.
class DoubleWorker final : public worker::WorkerHandle {
 public:
  DoubleWorker(fork_guard::Fd* stream, fork_guard::Fd* control, fork_guard::Fd* exit) {
    worker::DescriptorPair pair = *worker::make_socket_pair(), end = *worker::make_end_pipe();
    worker::DescriptorPair second = *worker::make_socket_pair();
    control_ = std::move(second.ours);
    *control = std::move(second.theirs);
    stream_ = std::move(pair.ours);
    *stream = std::move(pair.theirs);
    exit_ = std::move(end.ours);
    *exit = std::move(end.theirs);
  }
  int exit_fd() const override { return exit_.get(); }
  pid_t pid() const override { return 0; }
  bool kill() override { return true; }
  bool exited() override { return true; }  // asked only once exit_fd is readable
  bool can_be_killed() const override { return true; }
  std::string how_it_ended() const override { return "was told to"; }

 private:
  fork_guard::Fd exit_;
};

// One life of a worker: the link, and what a worker would hold.
struct Life {
  std::shared_ptr<WorkerLink> link;
  fork_guard::Fd stream, control, exit;
  worker::FrameReader reader, control_reader;
  int faults = 0, exits = 0;  // lane thread

  Result<Frame> take() { return worker::receive_frame(stream.get(), &reader, now_ns() + kBoundNs); }
  Status give(FrameType type, uint64_t request) {
    return worker::send_frame(stream.get(), {type, request, "{\"shape\":128}"}, now_ns() + kBoundNs);
  }
};

class Link : public testing::Test {
 protected:
  ~Link() override {
    loop_->run([&] {
      for (auto& life : lives_) life->link->close();
    });
    loop_->stop();
  }
  Life& start_life(sched::Generation generation) {
    lives_.push_back(std::make_unique<Life>());
    Life* life = lives_.back().get();
    auto stream = std::make_shared<WorkerStream>(
        std::make_unique<DoubleWorker>(&life->stream, &life->control, &life->exit),
        *worker::Arena::create(4096), 4096, generation);
    loop_->run([&] {
      WorkerLink::Events events;
      events.fault = [life](const Status&) { ++life->faults; };
      events.exited = [life] { ++life->exits; };
      life->link = *WorkerLink::open(loop_.get(), stream, std::move(events));
    });
    return *life;
  }
  // What became of an exchange: nullopt while it goes on.
  struct Sent {
    std::optional<Result<Frame>> end;
    int ends = 0;
  };
  void submit(Life& life, FrameType type, Sent* sent) {
    loop_->run([&] {
      WorkerLink::Exchange exchange;
      exchange.frame = {type, 0, "{\"shape\":128}"};
      exchange.timeout_ms = 60'000;
      exchange.done = [sent](Result<Frame> reply) {
        sent->end = std::move(reply);
        ++sent->ends;
      };
      life.link->submit(std::move(exchange));
    });
  }
  // On the lane thread, so that everything before it has been done.
  template <class Fn>
  auto look(const Fn& fn) {
    decltype(fn()) value{};
    loop_->run([&] { value = fn(); });
    return value;
  }
  bool ends(const Sent& sent) {
    const uint64_t until = now_ns() + kBoundNs;
    while (look([&] { return sent.ends; }) == 0)
      if (now_ns() >= until) return false;
    return true;
  }

  std::unique_ptr<LoopThread> loop_ = *LoopThread::start();
  std::vector<std::unique_ptr<Life>> lives_;
};

TEST_F(Link, S032_AfterABrokenEvictionTheChannelServesNobodyAndTheNextOneDoes) {
  Life& first = start_life(1);
  Sent evict, queued, late;
  submit(first, FrameType::kEvict, &evict);
  submit(first, FrameType::kEmbed, &queued);
  const Result<Frame> taken = first.take();
  ASSERT_TRUE(taken.ok());
  ASSERT_EQ(taken->type, FrameType::kEvict);
  // Broken off after the worker received it; the reply comes all the same.
  loop_->run([&] { first.link->fail(error(Code::kEngineCrashed, "broken off")); });
  (void)first.give(FrameType::kEvicted, taken->request);
  submit(first, FrameType::kEmbed, &late);
  for (Sent* sent : {&evict, &queued, &late}) {
    ASSERT_TRUE(ends(*sent));
    EXPECT_EQ(sent->ends, 1);
    EXPECT_EQ(sent->end->status().code(), Code::kEngineCrashed);
  }
  EXPECT_FALSE(first.take().ok()) << "nothing more is sent to it";
  EXPECT_EQ(look([&] { return first.faults; }), 1);

  Life& second = start_life(2);
  Sent served;
  submit(second, FrameType::kEmbed, &served);
  const Result<Frame> asked = second.take();
  ASSERT_TRUE(asked.ok());
  EXPECT_NE(asked->request, taken->request);
  ASSERT_TRUE(second.give(FrameType::kEmbedded, asked->request).ok());
  ASSERT_TRUE(ends(served));
  EXPECT_TRUE(served.end->ok());
  EXPECT_EQ(look([&] { return second.faults; }), 0);
}

TEST_F(Link, L6_1_AReplyOfAnotherLifeBreaksTheChannel) {
  Life& first = start_life(1);
  Life& second = start_life(2);
  Sent old, young;
  submit(first, FrameType::kEvict, &old);
  submit(second, FrameType::kEvict, &young);
  const Result<Frame> of_first = first.take();
  ASSERT_TRUE(of_first.ok() && second.take().ok());
  ASSERT_TRUE(second.give(FrameType::kEvicted, of_first->request).ok());
  ASSERT_TRUE(ends(young));
  EXPECT_EQ(young.end->status().code(), Code::kEngineCrashed);
  EXPECT_EQ(look([&] { return second.faults; }), 1);
  EXPECT_EQ(look([&] { return old.ends; }), 0) << "the other life goes on";
  ASSERT_TRUE(first.give(FrameType::kEvicted, of_first->request).ok());
  EXPECT_TRUE(ends(old));
}

// As long as it is answered that the request is being worked on, nobody loses patience before the time-out
// (a compile of a framework that takes minutes); an answer that is none breaks the channel (S032).
TEST_F(Link, L6_1_F42_WhatIsBeingWorkedOnIsAskedAfterAndLeftInPeace) {
  Life& life = start_life(1);
  Sent held;
  submit(life, FrameType::kAdmit, &held);
  const Result<Frame> asked = life.take();
  ASSERT_TRUE(asked.ok());
  uint64_t last = 0;
  for (uint32_t i = 0; i < limits::kPingsMissed + 2; ++i) {
    const Result<Frame> ping =
        worker::receive_frame(life.control.get(), &life.control_reader, now_ns() + kBoundNs);
    ASSERT_TRUE(ping.ok()) << ping.status().message();
    EXPECT_EQ(ping->type, FrameType::kPing);
    EXPECT_GT(ping->request, last);
    last = ping->request;
    const std::string pong = worker::to_json(worker::PongBody{2'000, asked->request, 0}).dump();
    ASSERT_TRUE(worker::send_frame(life.control.get(), {FrameType::kPong, last, pong}, now_ns()).ok());
  }
  EXPECT_EQ(look([&] { return held.ends; }), 0);
  ASSERT_TRUE(worker::send_frame(life.control.get(), {FrameType::kPong, last, "{"}, now_ns()).ok());
  ASSERT_TRUE(ends(held));
  EXPECT_EQ(held.end->status().code(), Code::kEngineCrashed);
  EXPECT_EQ(look([&] { return life.faults; }), 1);
}

// The permit is a caller's own: the lane thread asks after its worker all the same, and breaks the stream
// off, which wakes the caller.
TEST_F(Link, L6_1_ACallersOwnExchangeIsAskedAfterToo) {
  Life& life = start_life(1);
  const auto stream = life.link->stream();
  ASSERT_TRUE(stream->try_take_for_caller());
  for (int i = 0; i < 2; ++i) loop_->run([&] { life.link->look_at_callers(); });
  const uint64_t until = now_ns() + 3 * kBoundNs;
  while (!stream->broken() && now_ns() < until) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(stream->broken());
  EXPECT_EQ(look([&] { return life.faults; }), 1);
  stream->give_back();
}

TEST_F(Link, L6_1_ACallerThatIsDoneIsNotAskedAfter) {
  Life& life = start_life(1);
  const auto stream = life.link->stream();
  for (int i = 0; i < 2; ++i) {  // two runs, seen once each
    ASSERT_TRUE(stream->try_take_for_caller());
    loop_->run([&] { life.link->look_at_callers(); });
    stream->give_back();
  }
  EXPECT_FALSE(worker::receive_frame(life.control.get(), &life.control_reader,
                                     now_ns() + 2 * limits::kPingEveryMs * 1'000'000)
                   .ok());
  EXPECT_EQ(look([&] { return life.faults; }), 0);
}

// Ended in good order (retirement, a planned restart): what a caller's own run meets then is no fault.
TEST_F(Link, L6_4_AWorkerThatWasAskedToEndHasNoFault) {
  Life& life = start_life(1);
  const auto stream = life.link->stream();
  ASSERT_TRUE(stream->try_take_for_caller());
  int adopted = 0;
  loop_->run([&] {
    life.link->end(60'000);
    life.link->fail(error(Code::kEngineCrashed, "the caller's run broke off"));
    life.link->adopt(7, 60'000, [&](const Result<Frame>& reply) { adopted += reply.ok() ? 0 : 1; });
  });
  stream->give_back();
  EXPECT_FALSE(life.take().ok()) << "its stream is closed";
  EXPECT_EQ(look([&] { return adopted; }), 1);
  life.exit.reset();
  const uint64_t until = now_ns() + kBoundNs;
  while (look([&] { return life.exits; }) == 0 && now_ns() < until) std::this_thread::yield();
  EXPECT_EQ(look([&] { return life.exits; }), 1);
  EXPECT_EQ(look([&] { return life.faults; }), 0);
}

TEST_F(Link, L6_1_AnExitIsAFaultOnceAndReportedOnce) {
  Life& life = start_life(1);
  Sent held, late;
  submit(life, FrameType::kAdmit, &held);
  ASSERT_TRUE(life.take().ok());
  life.exit.reset();
  ASSERT_TRUE(ends(held));
  EXPECT_EQ(held.end->status().code(), Code::kEngineCrashed);
  submit(life, FrameType::kEmbed, &late);
  EXPECT_EQ(look([&] { return late.ends; }), 1);
  EXPECT_EQ(look([&] { return life.faults; }), 1);
  EXPECT_EQ(look([&] { return life.exits; }), 1);
  EXPECT_EQ(look([&] { return held.ends; }), 1);
}

}  // namespace
}  // namespace anelane
