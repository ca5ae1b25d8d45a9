// Runs plans.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ane_direct/soft/kernels.h"
#include "ane_direct/soft/plan.h"
#include "ane_direct/soft/thread_pool.h"
#include "ane_direct/soft/unary_table.h"

namespace anelane::soft {

enum class Numerics : uint8_t {
  kFast,     // fp32 sums in order, the result rounded once to fp16
  kLattice,  // the order and roundings of the published probes (lattice.h)
};

// What a plan needs besides its own bytes, found once when it is loaded.
struct PreparedPlan {
  const Plan* plan = nullptr;
  const uint8_t* weights = nullptr;                       // at a multiple of 64
  std::vector<std::shared_ptr<const UnaryTable>> tables;  // parallel to plan->steps
  size_t scratch_floats = 0;                              // for each thread
};
PreparedPlan prepare_plan(const Plan& plan, const uint8_t* weights, const Kernels& kernels,
                          UnaryTables* tables);

// Memory that programs of one engine share, since one runs at a time. Grows only in reserve().
class Workspace {
 public:
  void reserve(uint64_t arena_bytes, size_t scratch_floats, size_t threads);  // throws bad_alloc
  uint8_t* arena();
  float* scratch(size_t thread) { return scratch_[thread].data(); }

 private:
  std::vector<uint8_t> arena_;
  std::vector<std::vector<float>> scratch_;
};

struct ExecutorContext {
  const Kernels& kernels;
  Numerics numerics;
  ThreadPool& pool;
  Workspace& workspace;
};

// Inputs are in the arena already, outputs are left there. The plan has passed check_plan.
void run_plan(const PreparedPlan& prepared, const ExecutorContext& context);

}  // namespace anelane::soft
