// S032: the exchanges of a link whose channel broke. The worker is a double: this test holds the other end of
// its stream and decides what is answered, and when.
#include "lane/worker_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "base/clock.h"
#include "worker/descriptor_pairs.h"

namespace anelane {
namespace {

using worker::Frame;
using worker::FrameType;
constexpr uint64_t kBoundNs = 10'000'000'000;

// The channels of a worker, whose other ends go to the test.
class DoubleWorker final : public worker::WorkerHandle {
 public:
  DoubleWorker(fork_guard::Fd* stream, fork_guard::Fd* exit) {
    worker::DescriptorPair pair = *worker::make_socket_pair(), end = *worker::make_end_pipe();
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
  fork_guard::Fd stream, exit;
  worker::FrameReader reader;
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
    auto stream = std::make_shared<WorkerStream>(std::make_unique<DoubleWorker>(&life->stream, &life->exit),
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
