// One step after the other; inside a step, tasks are shared over the pool. A task owns the outputs it writes
// and sums in one fixed order, so the bits depend neither on the number of threads nor on how a step was cut.
#include "ane_direct/soft/executor.h"

#include <algorithm>

#include "ane_direct/soft/step_runner.h"

namespace anelane::soft {

NestOffsets nest_offsets(const Nest& nest, size_t outer_axes, uint64_t position) {
  NestOffsets at;
  for (size_t i = outer_axes; i-- > 0;) {
    const int64_t index = static_cast<int64_t>(position % nest.extent[i]);
    position /= nest.extent[i];
    at.a += index * nest.a[i];
    at.b += index * nest.b[i];
    at.c += index * nest.c[i];
    at.out += index * nest.out[i];
  }
  return at;
}

uint64_t nest_positions(const Nest& nest, size_t outer_axes) {
  uint64_t count = 1;
  for (size_t i = 0; i < outer_axes; ++i) count *= nest.extent[i];
  return count;
}

PreparedPlan prepare_plan(const Plan& plan, const uint8_t* weights, const Kernels& kernels,
                          UnaryTables* tables) {
  PreparedPlan prepared;
  prepared.plan = &plan;
  prepared.weights = weights;
  prepared.tables.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind == StepKind::kUnary)
      prepared.tables[i] = tables->get(static_cast<UnaryFn>(step.fn), step.scalars[0], step.scalars[1]);
    size_t scratch = 0;
    if (step.kind == StepKind::kGemm) scratch = gemm_scratch_floats(step, kernels);
    if (step.kind == StepKind::kReduce || step.kind == StepKind::kSoftmax ||
        step.kind == StepKind::kLayerNorm)
      scratch = axis_scratch_floats(step);
    prepared.scratch_floats = std::max(prepared.scratch_floats, scratch);
  }
  return prepared;
}

void Workspace::reserve(uint64_t arena_bytes, size_t scratch_floats, size_t threads) {
  // The new arena exists before the old one goes: if memory runs out here, loaded programs still have theirs.
  if (arena_.size() < arena_bytes + 64) arena_ = std::vector<uint8_t>(arena_bytes + 64);
  if (scratch_.size() < threads) scratch_.resize(threads);
  for (std::vector<float>& scratch : scratch_)
    if (scratch.size() < scratch_floats) scratch.resize(scratch_floats);
}

uint8_t* Workspace::arena() {
  const uintptr_t at = reinterpret_cast<uintptr_t>(arena_.data());
  return arena_.data() + (64 - at % 64) % 64;
}

void run_plan(const PreparedPlan& prepared, const ExecutorContext& context) {
  const StepMemory memory{context.workspace.arena(), prepared.weights};
  for (size_t i = 0; i < prepared.plan->steps.size(); ++i) {
    const Step& step = prepared.plan->steps[i];
    switch (step.kind) {
      case StepKind::kGemm:
        context.numerics == Numerics::kLattice ? run_gemm_lattice(step, memory, context)
                                               : run_gemm(step, memory, context);
        break;
      case StepKind::kIm2col:
        run_im2col(step, memory, context);
        break;
      case StepKind::kBinary:
        run_binary(step, memory, context);
        break;
      case StepKind::kUnary:
        run_unary(step, *prepared.tables[i], memory, context);
        break;
      case StepKind::kReduce:
      case StepKind::kSoftmax:
      case StepKind::kLayerNorm:
        run_along_axis(step, memory, context);
        break;
      case StepKind::kCopy:
        run_copy(step, memory, context);
        break;
      case StepKind::kToHalf:
      case StepKind::kToFloat:
        run_cast(step, memory, context);
        break;
      case StepKind::kCount:
        break;
    }
  }
}

}  // namespace anelane::soft
