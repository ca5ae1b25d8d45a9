// Movement: strided copies (transpose, slice, split, concat) and the unfolding of convolution inputs.
// Copies keep every bit. Where the innermost axis is contiguous on both sides they are memcpy; where source
// and result run along different axes (a transpose) both are walked in small square blocks, so that each
// cache line is used whole.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ane_direct/soft/step_runner.h"

namespace anelane::soft {
namespace {

constexpr uint64_t kTaskElements = 16384;
constexpr uint64_t kBlock = 32;
constexpr uint16_t kCropLimit = 0x6bff;  // 4094 (numerics N46)

void copy_run(const uint16_t* from, int64_t from_step, uint16_t* to, int64_t to_step, uint64_t n) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, n * 2);
    return;
  }
  for (uint64_t i = 0; i < n; ++i, from += from_step, to += to_step) *to = *from;
}

// Copies with the innermost axis as runs.
void copy_rows(const Nest& nest, const uint16_t* from, uint16_t* to, ThreadPool& pool) {
  const size_t inner = nest.rank - 1u;
  const uint64_t n = nest.extent[inner];
  const uint64_t rows = nest_positions(nest, inner);
  const uint64_t each = std::max<uint64_t>(1, kTaskElements / n);
  pool.run((rows + each - 1) / each, [&](size_t task, size_t) {
    for (uint64_t row = task * each; row < std::min(rows, (task + 1) * each); ++row) {
      const NestOffsets at = nest_offsets(nest, inner, row);
      copy_run(from + at.a, nest.a[inner], to + at.out, nest.out[inner], n);
    }
  });
}

// Axis `fast` is contiguous in the source, the innermost one in the result.
void copy_blocks(Nest nest, size_t fast, const uint16_t* from, uint16_t* to, ThreadPool& pool) {
  const size_t inner = nest.rank - 1u;
  // Bring `fast` next to the innermost axis: the order of outer axes does not matter.
  for (size_t i = fast; i + 1 < inner; ++i) {
    std::swap(nest.extent[i], nest.extent[i + 1]);
    std::swap(nest.a[i], nest.a[i + 1]);
    std::swap(nest.out[i], nest.out[i + 1]);
  }
  const size_t outer = inner - 1;
  const uint64_t rows = nest.extent[outer], columns = nest.extent[inner];
  const uint64_t bands = (rows + kBlock - 1) / kBlock;
  pool.run(nest_positions(nest, outer) * bands, [&](size_t task, size_t) {
    const NestOffsets at = nest_offsets(nest, outer, task / bands);
    const uint64_t row = task % bands * kBlock;
    const uint64_t row_end = std::min(rows, row + kBlock);
    for (uint64_t column = 0; column < columns; column += kBlock) {
      const uint64_t column_end = std::min(columns, column + kBlock);
      for (uint64_t r = row; r < row_end; ++r) {
        const uint16_t* source = from + at.a + static_cast<int64_t>(r) * nest.a[outer];
        uint16_t* target = to + at.out + static_cast<int64_t>(r) * nest.out[outer];
        for (uint64_t c = column; c < column_end; ++c)
          target[static_cast<int64_t>(c) * nest.out[inner]] = source[static_cast<int64_t>(c) * nest.a[inner]];
      }
    }
  });
}

// A slice that begins inside the last axis goes through fixed point on the first generations: what is above
// 4094 becomes infinite (numerics N46). Part of the lattice profile only.
void crop(const Nest& nest, uint16_t* out) {
  for (uint64_t i = 0; i < nest_positions(nest, nest.rank); ++i) {
    uint16_t& value = out[nest_offsets(nest, nest.rank, i).out];
    if ((value & 0x7fffu) > kCropLimit) value = static_cast<uint16_t>((value & 0x8000u) | 0x7c00u);
  }
}

}  // namespace

void run_copy(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const Nest& nest = step.nest;
  const uint16_t* from = memory.read(step.a);
  uint16_t* to = memory.write(step.out);
  if (nest.rank == 0) {
    *to = *from;
  } else {
    const size_t inner = nest.rank - 1u;
    size_t fast = inner;
    for (size_t i = 0; i < inner && nest.a[inner] != 1; ++i)
      if (nest.a[i] == 1) fast = i;
    if (fast == inner) {
      copy_rows(nest, from, to, context.pool);
    } else {
      copy_blocks(nest, fast, from, to, context.pool);
    }
  }
  if ((step.flags & kWidthCrop) != 0 && context.numerics == Numerics::kLattice) crop(nest, to);
}

void run_im2col(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const auto& d = step.dims;
  const uint16_t* x = memory.read(step.a);
  uint16_t* out = memory.write(step.out);
  const uint64_t taps = d[kKernelH] * d[kKernelW];
  const uint64_t pixels = d[kOutH] * d[kOutW];
  // One task for each image, channel and tap: a plane of out pixels.
  context.pool.run(d[kImages] * d[kChannels] * taps, [&](size_t task, size_t) {
    const uint64_t tap = task % taps;
    const uint16_t* plane = x + task / taps * d[kHeight] * d[kWidth];
    uint16_t* to = out + task * pixels;
    const int64_t top =
        static_cast<int64_t>(tap / d[kKernelW] * d[kDilationH]) - static_cast<int64_t>(d[kPadTop]);
    const int64_t left =
        static_cast<int64_t>(tap % d[kKernelW] * d[kDilationW]) - static_cast<int64_t>(d[kPadLeft]);
    for (uint64_t row = 0; row < d[kOutH]; ++row) {
      const int64_t y = top + static_cast<int64_t>(row * d[kStrideH]);
      const bool inside = y >= 0 && y < static_cast<int64_t>(d[kHeight]);
      for (uint64_t column = 0; column < d[kOutW]; ++column) {
        const int64_t at = left + static_cast<int64_t>(column * d[kStrideW]);
        const bool valid = inside && at >= 0 && at < static_cast<int64_t>(d[kWidth]);
        *to++ = valid ? plane[y * static_cast<int64_t>(d[kWidth]) + at] : uint16_t{0};
      }
    }
  });
}

}  // namespace anelane::soft
