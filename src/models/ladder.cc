// The rungs of a model (L2.2) and the rung of a sequence (L2.3). Every rung is a multiple of 32, so that fp16
// rows are multiples of 64 bytes and need no padding of their own.
#include <algorithm>

#include "base/limits.h"
#include "models/model.h"

namespace anelane {
namespace {

constexpr uint32_t kFirstRung = 128;
constexpr uint32_t kLastRung = 8192;
constexpr uint32_t kRungStep = 32;

Status wrong_ladder(const std::string& what) {
  return error(Code::kInvalidArgument, "rungs: " + what);
}

Status check_ladder(uint32_t ceiling, std::span<const uint32_t> rungs) {
  if (rungs.size() > limits::kMaxRungs)
    return wrong_ladder(std::to_string(rungs.size()) + " rungs, at most " +
                        std::to_string(limits::kMaxRungs) + " are possible")
        .with_limit(limits::kMaxRungs);
  uint32_t previous = 0;
  for (const uint32_t rung : rungs) {
    if (rung <= previous)
      return wrong_ladder(std::to_string(rung) + " follows " + std::to_string(previous) +
                          ": give them strictly ascending, from more than 0");
    if (rung > ceiling)
      return wrong_ladder(std::to_string(rung) + " is beyond the model's ceiling of " +
                          std::to_string(ceiling) + " tokens")
          .with_limit(ceiling);
    if (rung % kRungStep != 0)
      return wrong_ladder(std::to_string(rung) + " is not a multiple of " + std::to_string(kRungStep));
    previous = rung;
  }
  if (previous != ceiling)
    return wrong_ladder("the last one is " + std::to_string(previous) + ": end with the model's ceiling, " +
                        std::to_string(ceiling))
        .with_limit(ceiling);
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> make_ladder(uint32_t ceiling, std::span<const uint32_t> wanted) {
  std::vector<uint32_t> ladder(wanted.begin(), wanted.end());
  if (ladder.empty()) {
    for (uint32_t rung = kFirstRung; rung <= kLastRung && rung < ceiling; rung *= 2) ladder.push_back(rung);
    ladder.push_back(ceiling);
  }
  ANELANE_TRY(check_ladder(ceiling, ladder));
  return ladder;
}

uint32_t rung_for(std::span<const uint32_t> ladder, uint64_t tokens) {
  if (tokens == 0) return 0;
  const auto found = std::lower_bound(ladder.begin(), ladder.end(), tokens,
                                      [](uint32_t rung, uint64_t count) { return rung < count; });
  return found != ladder.end() ? *found : 0;
}

}  // namespace anelane
