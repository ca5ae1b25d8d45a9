// L3.7: an action that lets a link send what it has queued never comes before one that takes it back.
#include "lane/step_order.h"

#include <gtest/gtest.h>

namespace anelane {
namespace {

using sched::Action;
using Kind = sched::ActionKind;

Action action(Kind kind, sched::WorkerId worker, uint32_t rung) {
  Action a;
  a.kind = kind;
  a.worker = worker;
  a.rung = rung;
  return a;
}

std::vector<Kind> kinds(const std::vector<Action>& actions) {
  std::vector<Kind> kinds;
  for (const Action& a : actions) kinds.push_back(a.kind);
  return kinds;
}

TEST(StepOrder, L3_7_WithdrawalsComeBeforeAnswersAndStartsAfter) {
  const Action actions[] = {action(Kind::kGrant, 1, 0), action(Kind::kStartAdmission, 2, 0),
                            action(Kind::kWithdrawEviction, 1, 1), action(Kind::kRecover, 3, 0)};
  StepOrder step;
  step.take(actions);
  EXPECT_EQ(kinds(step.withdrawals()), std::vector{Kind::kWithdrawEviction});
  EXPECT_EQ(kinds(step.others()), (std::vector{Kind::kGrant, Kind::kRecover}));
  EXPECT_EQ(kinds(step.starts()), std::vector{Kind::kStartAdmission});
}

TEST(StepOrder, L3_7_WhatIsTakenBackInTheSameStepIsNeverSent) {
  const Action actions[] = {action(Kind::kStartEviction, 1, 0), action(Kind::kStartAdmission, 1, 0),
                            action(Kind::kStartEviction, 1, 1), action(Kind::kStartEviction, 2, 0),
                            action(Kind::kWithdrawEviction, 1, 0)};
  StepOrder step;
  step.take(actions);
  EXPECT_TRUE(step.withdrawals().empty()) << "its link has not heard of it";
  ASSERT_EQ(step.starts().size(), 3u);
  EXPECT_EQ(step.starts()[0].kind, Kind::kStartAdmission);
  EXPECT_EQ(step.starts()[1].rung, 1u);
  EXPECT_EQ(step.starts()[2].worker, 2u);
}

TEST(StepOrder, L3_7_WhatIsStartedAnewAfterItsWithdrawalIsSentOnce) {
  const Action actions[] = {action(Kind::kWithdrawAdmission, 1, 0), action(Kind::kStartAdmission, 1, 0)};
  StepOrder step;
  step.take(actions);
  EXPECT_EQ(step.withdrawals().size(), 1u);
  EXPECT_EQ(step.starts().size(), 1u);
  step.take({});
  EXPECT_TRUE(step.withdrawals().empty() && step.others().empty() && step.starts().empty());
}

}  // namespace
}  // namespace anelane
