// What the oracle itself predicts: L4.4, L4.5 and L4.7, written a second time and differently.
#pragma once
#include <vector>

#include "workload.h"

namespace anelane::sim {

class OracleCosts {
 public:
  explicit OracleCosts(const Workload& workload);
  void report(uint32_t model, uint32_t mask);
  bool is_load(uint32_t model, uint32_t rung) const { return of(model, rung).cached; }
  Time compile(uint32_t model, uint32_t rung) const;
  Time predicted(uint32_t model, uint32_t rung) const;
  void learned(uint32_t model, uint32_t rung, bool counts, bool compiled, Time elapsed);

 private:
  struct Rung {
    Time seed, measured, load;
    bool cached;
  };
  const Rung& of(uint32_t model, uint32_t rung) const { return models_[model][rung]; }
  std::vector<std::vector<Rung>> models_;
  std::vector<bool> reports_;
};

}  // namespace anelane::sim
