// Deterministic compile errors, for a while (L4.16): who asks for the same program and rung again gets the
// same error without a compile, whichever worker of that program is asked.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "scheduler/types.h"

namespace anelane::sched {

class FailureMemory {
 public:
  void remember(const std::string& program, uint32_t shape, Code code, Time now, Time until) {
    std::erase_if(failures_, [now](const auto& f) { return f.second.until <= now; });
    failures_[{program, shape}] = {code, until};
  }
  // kOk: nothing is known against it.
  Code recall(const std::string& program, uint32_t shape, Time now) const {
    const Failure* known = find(program, shape, now);
    return known != nullptr ? known->code : Code::kOk;
  }
  // Until when recall() knows; `now` when it knows nothing.
  Time known_until(const std::string& program, uint32_t shape, Time now) const {
    const Failure* known = find(program, shape, now);
    return known != nullptr ? known->until : now;
  }

 private:
  struct Failure {
    Code code;
    Time until;
  };
  const Failure* find(const std::string& program, uint32_t shape, Time now) const {
    if (failures_.empty()) return nullptr;
    const auto it = failures_.find({program, shape});
    return it != failures_.end() && now < it->second.until ? &it->second : nullptr;
  }
  std::map<std::pair<std::string, uint32_t>, Failure> failures_;
};

}  // namespace anelane::sched
