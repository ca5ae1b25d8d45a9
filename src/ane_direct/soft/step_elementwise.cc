// Elementwise steps: arithmetic on two operands with repeated axes, table look-ups, and the casts at the
// border of a program. Work is cut into runs of the innermost axis.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ane_direct/soft/step_runner.h"

namespace anelane::soft {
namespace {

// Smaller steps are not worth a second thread.
constexpr uint64_t kTaskElements = 65536;   // arithmetic: some ten elements in a nanosecond
constexpr uint64_t kTableElements = 16384;  // look-ups: about one

using BinaryKernel = void (*)(const uint16_t*, const uint16_t*, uint16_t*, size_t, bool, bool);

// Rare with two tensors; with a constant exponent the compiler makes a table of it.
void pow_run(const uint16_t* x, const uint16_t* y, uint16_t* out, size_t n, bool x_one, bool y_one) {
  for (size_t i = 0; i < n; ++i)
    out[i] = unary_value(UnaryFn::kPowScalar, half_to_float(y[y_one ? 0 : i]), 0, x[x_one ? 0 : i]);
}

BinaryKernel kernel_for(BinaryFn fn, const Kernels& kernels) {
  switch (fn) {
    case BinaryFn::kAdd:
      return kernels.add;
    case BinaryFn::kSub:
      return kernels.sub;
    case BinaryFn::kMul:
      return kernels.mul;
    case BinaryFn::kDiv:
      return kernels.div;
    case BinaryFn::kMax:
      return kernels.max;
    case BinaryFn::kMin:
      return kernels.min;
    case BinaryFn::kPow:
    case BinaryFn::kCount:
      break;
  }
  return pow_run;
}

// One innermost axis. Strides other than 0 and 1 do not come out of our compiler but may stand in a plan.
void binary_run(BinaryKernel kernel, const uint16_t* x, int64_t x_step, const uint16_t* y, int64_t y_step,
                uint16_t* out, int64_t out_step, size_t n) {
  const bool plain = (x_step == 0 || x_step == 1) && (y_step == 0 || y_step == 1) && out_step == 1;
  if (plain) return kernel(x, y, out, n, x_step == 0, y_step == 0);
  for (size_t i = 0; i < n; ++i, x += x_step, y += y_step, out += out_step)
    kernel(x, y, out, 1, false, false);
}

}  // namespace

void run_binary(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const BinaryKernel kernel = kernel_for(static_cast<BinaryFn>(step.fn), context.kernels);
  const Nest& nest = step.nest;
  const uint16_t* x = memory.read(step.a);
  const uint16_t* y = memory.read(step.b);
  uint16_t* out = memory.write(step.out);
  if (nest.rank == 0) return kernel(x, y, out, 1, false, false);
  const size_t inner = nest.rank - 1u;
  const uint64_t n = nest.extent[inner];
  const uint64_t rows = nest_positions(nest, inner);
  // Either several rows in one task, or several tasks for one row.
  const uint64_t piece = std::min(n, kTaskElements);
  const uint64_t pieces = (n + piece - 1) / piece;
  const uint64_t rows_each = std::max<uint64_t>(1, kTaskElements / n);
  const uint64_t row_tasks = (rows + rows_each - 1) / rows_each;
  context.pool.run(row_tasks * pieces, [&](size_t task, size_t) {
    const uint64_t start = task % pieces * piece;
    const uint64_t first = task / pieces * rows_each;
    const size_t count = static_cast<size_t>(std::min(piece, n - start));
    const int64_t skip = static_cast<int64_t>(start);
    for (uint64_t row = first; row < std::min(rows, first + rows_each); ++row) {
      const NestOffsets at = nest_offsets(nest, inner, row);
      binary_run(kernel, x + at.a + skip * nest.a[inner], nest.a[inner], y + at.b + skip * nest.b[inner],
                 nest.b[inner], out + at.out + skip * nest.out[inner], nest.out[inner], count);
    }
  });
}

void run_unary(const Step& step, const UnaryTable& table, const StepMemory& memory,
               const ExecutorContext& context) {
  const uint16_t* x = memory.read(step.a);
  uint16_t* out = memory.write(step.out);
  const uint64_t n = step.dims[0];
  context.pool.run((n + kTableElements - 1) / kTableElements, [&](size_t task, size_t) {
    const uint64_t end = std::min(n, (task + 1) * kTableElements);
    for (uint64_t i = task * kTableElements; i < end; ++i) out[i] = table[x[i]];
  });
}

void run_cast(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const uint64_t n = step.dims[0];
  if (step.kind == StepKind::kToFloat) {
    context.kernels.from_half(memory.read(step.a), reinterpret_cast<float*>(memory.write(step.out)), n);
    return;
  }
  // The border: a NaN becomes +inf (numerics N20).
  const float* x = reinterpret_cast<const float*>(memory.read(step.a));
  uint16_t* out = memory.write(step.out);
  for (uint64_t i = 0; i < n; ++i) out[i] = std::isnan(x[i]) ? Half{0x7c00} : float_to_half(x[i]);
}

}  // namespace anelane::soft
