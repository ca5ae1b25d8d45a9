// One history as a picture, so that a person sees why a request waited: a row for each worker (what its
// stream does, which shapes are resident and leased), a line for each request, and below queue and budget.
#pragma once
#include <string>
#include <vector>

#include "world.h"

namespace anelane::sim {

// What the log does not say, after each step that changed it.
class Sampler : public Watcher {
 public:
  struct Sample {
    Time t = 0;
    uint32_t entries = 0, waiting = 0, charged = 0;
  };
  explicit Sampler(World& world) : world_(world) {}
  void after(Time now, const sched::Event& event, std::span<const sched::Action> actions) override;
  const std::vector<Sample>& samples() const { return samples_; }

 private:
  World& world_;
  std::vector<Sample> samples_;
};

struct PictureRange {
  Time from = 0;
  Time to = kNever;  // kNever: the last thing that happened
};

// Scalable vector graphics: a whole document.
std::string draw_picture(const std::string& title, const Workload& workload, const std::vector<LogLine>& log,
                         const std::vector<Sampler::Sample>& samples, const PictureRange& range);

}  // namespace anelane::sim
