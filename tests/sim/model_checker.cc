// A scheduler cannot be copied, so a situation is kept as the moves that lead to it and made again when it is
// looked at. Two situations are the same if scheduler and world are (SmallWorld::digest); the oracle's books
// follow from the history, and the first history to reach a situation speaks for all.
//
// From each new situation the world is also healed and left alone: everybody must be answered, everything
// must end.
#include "model_checker.h"

#include <memory>
#include <unordered_set>

#include "oracle.h"

namespace anelane::sim {
namespace {

using Path = std::vector<uint8_t>;  // indices into moves()

struct Judged {
  explicit Judged(const SmallSetup& setup) : world(setup), oracle(world, setup.world) {
    world.watch(&oracle);
    world.begin();
  }
  void follow(const Path& path) {
    for (const uint8_t i : path) world.make(world.moves()[i]);
  }
  std::string violation() {
    if (!oracle.violation().empty()) return oracle.violation();
    const std::string& broken = world.scheduler().broken();
    return broken.empty() ? "" : "the core: " + broken;
  }
  SmallWorld world;
  Oracle oracle;
};

std::vector<std::string> tell(const SmallSetup& setup, const Path& path) {
  Judged again(setup);
  std::vector<std::string> out;
  for (const uint8_t i : path) {
    const Move move = again.world.moves()[i];
    out.push_back(again.world.describe(move));
    again.world.make(move);
  }
  return out;
}

// Left alone, it comes to an end.
std::string rest(Judged& judged) {
  if (!judged.world.come_to_rest()) return "liveness: it never comes to rest";
  judged.oracle.check_quiet(judged.world.now());
  return judged.violation();
}

class Search {
 public:
  Search(const SmallSetup& setup, const CheckLimits& limits) : setup_(setup), limits_(limits) {}

  CheckResult run() {
    std::vector<Path> level{{}};
    for (size_t depth = 1; depth <= limits_.depth && !over_; ++depth) {
      std::vector<Path> next;
      for (const Path& path : level) {
        expand(path, &next);
        if (over_) break;
      }
      if (over_) break;
      result_.depth = depth;
      result_.complete = next.empty();
      if (next.empty()) break;
      level = std::move(next);
    }
    return std::move(result_);
  }

 private:
  void expand(const Path& path, std::vector<Path>* next) {
    auto at = std::make_unique<Judged>(setup_);
    at->follow(path);
    const std::vector<Move> moves = at->world.moves();
    for (size_t i = 0; i < moves.size() && !over_; ++i) {
      if (at == nullptr) {
        at = std::make_unique<Judged>(setup_);
        at->follow(path);
      }
      at->world.make(moves[i]);
      ++result_.moves;
      Path longer = path;
      longer.push_back(static_cast<uint8_t>(i));
      std::string wrong = at->violation();
      if (wrong.empty() && seen_.insert(at->world.digest()).second) {
        wrong = rest(*at);
        next->push_back(longer);
        result_.situations = seen_.size();
        over_ = seen_.size() >= limits_.situations;
      }
      at.reset();
      if (wrong.empty()) continue;
      result_.violation = wrong;
      result_.history = tell(setup_, longer);
      over_ = true;
    }
  }

  const SmallSetup& setup_;
  const CheckLimits limits_;
  std::unordered_set<uint64_t> seen_;
  CheckResult result_;
  bool over_ = false;
};

}  // namespace

CheckResult check_world(const SmallSetup& setup, const CheckLimits& limits) {
  return Search(setup, limits).run();
}

}  // namespace anelane::sim
