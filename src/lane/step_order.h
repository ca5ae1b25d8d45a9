// In which order the actions of one step are carried out. What has reached a worker cannot be taken back
// (L3.7), and an answer or a replacement may let a link send what it has queued. So withdrawals come before
// everything else and starts after it, and what is started and taken back within the step is never sent.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "scheduler/types.h"

namespace anelane {

class StepOrder {
 public:
  // Forgets the step before.
  void take(std::span<const sched::Action> actions) {
    withdrawals_.clear();
    others_.clear();
    starts_.clear();
    for (const sched::Action& action : actions) {
      if (is_start(action.kind))
        starts_.push_back(action);
      else if (!is_withdrawal(action.kind))
        others_.push_back(action);
      else if (!erase_start(action))
        withdrawals_.push_back(action);
    }
  }
  const std::vector<sched::Action>& withdrawals() const { return withdrawals_; }
  const std::vector<sched::Action>& others() const { return others_; }
  const std::vector<sched::Action>& starts() const { return starts_; }

 private:
  using Kind = sched::ActionKind;
  static bool is_start(Kind kind) { return kind == Kind::kStartAdmission || kind == Kind::kStartEviction; }
  static bool is_withdrawal(Kind kind) {
    return kind == Kind::kWithdrawAdmission || kind == Kind::kWithdrawEviction;
  }
  bool erase_start(const sched::Action& withdrawal) {
    const Kind started =
        withdrawal.kind == Kind::kWithdrawAdmission ? Kind::kStartAdmission : Kind::kStartEviction;
    const auto start = std::find_if(starts_.begin(), starts_.end(), [&](const sched::Action& a) {
      return a.kind == started && a.worker == withdrawal.worker && a.rung == withdrawal.rung;
    });
    if (start == starts_.end()) return false;
    starts_.erase(start);
    return true;
  }
  std::vector<sched::Action> withdrawals_, others_, starts_;
};

}  // namespace anelane
