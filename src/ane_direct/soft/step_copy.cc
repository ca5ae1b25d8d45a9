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

constexpr uint64_t kTaskElements = 65536;  // smaller copies are not worth a second thread
constexpr uint64_t kBlock = 64;
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

// One rectangle of a transpose: rows are contiguous in the source, columns in the result.
struct Rectangle {
  const uint16_t* from;
  uint16_t* to;
  int64_t from_column;  // from one column to the next in the source
  int64_t to_row;       // from one row to the next in the result
};

void transpose_rectangle(const Rectangle& r, uint64_t rows, uint64_t columns, const Kernels& kernels) {
  const auto single = [&](uint64_t row, uint64_t column) {
    r.to[static_cast<int64_t>(row) * r.to_row + static_cast<int64_t>(column)] =
        r.from[static_cast<int64_t>(row) + static_cast<int64_t>(column) * r.from_column];
  };
  const bool forward = r.from_column > 0 && r.to_row > 0;
  const uint64_t whole_rows = forward ? rows / 8 * 8 : 0;
  const uint64_t whole_columns = forward ? columns / 8 * 8 : 0;
  for (uint64_t row = 0; row < whole_rows; row += 8)
    for (uint64_t column = 0; column < whole_columns; column += 8)
      kernels.transpose(r.from + row + column * static_cast<uint64_t>(r.from_column),
                        static_cast<size_t>(r.from_column),
                        r.to + row * static_cast<uint64_t>(r.to_row) + column, static_cast<size_t>(r.to_row));
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column)
      single(row, column);
}

// Axis `fast` is contiguous in the source, the innermost one in the result.
void copy_blocks(Nest nest, size_t fast, const uint16_t* from, uint16_t* to, const ExecutorContext& context) {
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
  context.pool.run(nest_positions(nest, outer) * bands, [&](size_t task, size_t) {
    const NestOffsets at = nest_offsets(nest, outer, task / bands);
    const uint64_t row = task % bands * kBlock;
    for (uint64_t column = 0; column < columns; column += kBlock) {
      const Rectangle part{
          from + at.a + static_cast<int64_t>(row) + static_cast<int64_t>(column) * nest.a[inner],
          to + at.out + static_cast<int64_t>(row) * nest.out[outer] + static_cast<int64_t>(column),
          nest.a[inner], nest.out[outer]};
      transpose_rectangle(part, std::min(kBlock, rows - row), std::min(kBlock, columns - column),
                          context.kernels);
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
    if (fast == inner || nest.out[inner] != 1) {
      copy_rows(nest, from, to, context.pool);
    } else {
      copy_blocks(nest, fast, from, to, context);
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
