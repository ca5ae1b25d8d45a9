// The steps of a plan as functions; one file for each family.
#pragma once
#include "ane_direct/soft/executor.h"

namespace anelane::soft {

// Where a step's operands are in memory.
struct StepMemory {
  uint8_t* arena;
  const uint8_t* weights;
  const uint16_t* read(const View& view) const {
    const uint8_t* base = view.space == Space::kArena ? arena : weights;
    return reinterpret_cast<const uint16_t*>(base + view.offset);
  }
  uint16_t* write(const View& view) const { return reinterpret_cast<uint16_t*>(arena + view.offset); }
};

void run_gemm(const Step& step, const StepMemory& memory, const ExecutorContext& context);  // step_gemm.cc
void run_gemm_lattice(const Step& step, const StepMemory& memory,
                      const ExecutorContext& context);                                        // step_gemm.cc
void run_im2col(const Step& step, const StepMemory& memory, const ExecutorContext& context);  // step_copy.cc
void run_copy(const Step& step, const StepMemory& memory, const ExecutorContext& context);    // step_copy.cc
void run_binary(const Step& step, const StepMemory& memory,
                const ExecutorContext& context);  // step_elementwise.cc
void run_unary(const Step& step, const UnaryTable& table, const StepMemory& memory,
               const ExecutorContext& context);  // step_elementwise.cc
void run_cast(const Step& step, const StepMemory& memory,
              const ExecutorContext& context);  // step_elementwise.cc
void run_along_axis(const Step& step, const StepMemory& memory,
                    const ExecutorContext& context);  // step_axis.cc

size_t gemm_scratch_floats(const Step& step, const Kernels& kernels);
size_t axis_scratch_floats(const Step& step);

// The offsets of the operands of a nest at one position of its outer axes (all but the last `inner` ones).
struct NestOffsets {
  int64_t a = 0, b = 0, c = 0, out = 0;
};
NestOffsets nest_offsets(const Nest& nest, size_t outer_axes, uint64_t position);
uint64_t nest_positions(const Nest& nest, size_t outer_axes);

}  // namespace anelane::soft
