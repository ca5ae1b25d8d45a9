// L6.1: when a worker that is alive, or seems to be, is given up before the time-out of its exchange.
#include "lane/worker_pulse.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace anelane {
namespace {

constexpr uint64_t kRequest = 7, kForEver = uint64_t{1} << 50;
const worker::PongBody kAtWork{2'000, kRequest, 0}, kIdle{0, kRequest, 0}, kOther{2'000, kRequest - 1, 0};

// Asks `count` times and has each question answered so; true: it was never given up.
bool survives(WorkerPulse* pulse, uint32_t count, const worker::PongBody& pong) {
  for (uint32_t i = 0; i < count; ++i) {
    const Result<uint64_t> question = pulse->next_question();
    if (!question.ok()) return false;
    pulse->answered(*question, pong);
  }
  return true;
}

// How many questions go unanswered before it is given up.
uint32_t patience(WorkerPulse* pulse, std::string* why) {
  for (uint32_t asked = 0;; ++asked) {
    const Result<uint64_t> question = pulse->next_question();
    if (question.ok()) continue;
    EXPECT_EQ(question.status().code(), Code::kEngineCrashed);
    *why = question.status().message();
    return asked;
  }
}

TEST(WorkerPulse, L6_1_SilenceIsGivenUpAfterSoManyQuestions) {
  WorkerPulse pulse;
  std::string why;
  pulse.begin(kRequest, kForEver, false);
  EXPECT_EQ(patience(&pulse, &why), limits::kPingsMissed);
  EXPECT_NE(why.find("did not answer 5 questions in 10 s"), std::string::npos) << why;
}

TEST(WorkerPulse, L6_1_OneAnswerStartsThePatienceAnew) {
  WorkerPulse pulse;
  std::string why;
  pulse.begin(kRequest, kForEver, false);
  for (int round = 0; round < 10; ++round) {
    uint64_t question = 0;
    for (uint32_t i = 0; i < limits::kPingsMissed; ++i) question = *pulse.next_question();
    pulse.answered(question, kAtWork);
  }
  EXPECT_EQ(patience(&pulse, &why), limits::kPingsMissed);
}

TEST(WorkerPulse, L6_1_F42_ACompileMayTakeHoursAsLongAsItAnswers) {
  WorkerPulse pulse;
  pulse.begin(kRequest, kForEver, false);
  EXPECT_TRUE(survives(&pulse, 10'000, kAtWork));
}

TEST(WorkerPulse, L6_1_AnAnswerThatItDoesSomethingElseIsNoProof) {
  for (const worker::PongBody& pong : {kIdle, kOther}) {
    WorkerPulse pulse;
    pulse.begin(kRequest, kForEver, false);
    EXPECT_TRUE(survives(&pulse, limits::kPingsMissed, pong));
    const Result<uint64_t> question = pulse.next_question();
    ASSERT_FALSE(question.ok());
    EXPECT_NE(question.status().message().find("not been at the request"), std::string::npos);
  }
}

TEST(WorkerPulse, L6_1_OfACallersExchangeOnlySilenceIsJudged) {
  WorkerPulse pulse;
  std::string why;
  pulse.begin_of_caller();
  EXPECT_TRUE(survives(&pulse, 1'000, kIdle));
  EXPECT_EQ(patience(&pulse, &why), limits::kPingsMissed);
}

TEST(WorkerPulse, L6_1_F25_AnEmbedThatStandsStillIsGivenUpAndOneThatMovesIsNot) {
  WorkerPulse pulse;
  pulse.begin(kRequest, kForEver, true);
  worker::PongBody pong = kAtWork;
  for (uint32_t i = 0; i < 100; ++i) {
    ++pong.steps;
    ASSERT_TRUE(survives(&pulse, limits::kStuckPings - 1, pong)) << i;
  }
  EXPECT_FALSE(survives(&pulse, limits::kStuckPings + 1, pong));
  pulse.begin(kRequest, kForEver, false);  // of something that has no short steps
  EXPECT_TRUE(survives(&pulse, limits::kStuckPings + 1, pong));
}

// A host that was stopped asks one late question: it costs the worker one of them, whatever the clock says.
TEST(WorkerPulse, L6_1_TheTimeOutCountsQuestions) {
  const uint32_t most = 60;
  WorkerPulse pulse;
  for (int exchange = 0; exchange < 2; ++exchange) {
    pulse.begin(kRequest, uint64_t{most} * limits::kPingEveryMs, false);
    EXPECT_TRUE(survives(&pulse, most, kAtWork));
    const Result<uint64_t> question = pulse.next_question();
    ASSERT_FALSE(question.ok());
    EXPECT_NE(question.status().message().find("within 120 s"), std::string::npos)
        << question.status().message();
  }
}

TEST(WorkerPulse, L6_1_AnAnswerToAnEarlierExchangeSaysNothing) {
  WorkerPulse pulse;
  std::string why;
  pulse.begin(kRequest - 1, kForEver, false);
  const uint64_t old = *pulse.next_question();
  pulse.begin(kRequest, kForEver, false);
  for (uint32_t i = 0; i < limits::kPingsMissed; ++i) {
    ASSERT_TRUE(pulse.next_question().ok());
    pulse.answered(old, kAtWork);
    pulse.answered(old + 1'000, kAtWork);  // nobody has asked that yet
  }
  EXPECT_FALSE(pulse.next_question().ok());
}

}  // namespace
}  // namespace anelane
