// Matrix products. A task is one tile of the result: up to 192 rows × 256 columns of one batch. For each
// block of k it packs its part of B into panels (fp32), turns A six rows at a time into fp32, and lets the
// kernel go on with the sums in an fp32 tile; the last block is followed by ceiling, bias and the rounding
// to fp16. Sums are carried from block to block exactly, so kDepth and the tile sizes change no bit.
//
// Weights lie in the plan as fp16 panels; turning them into fp32 on the way costs one vector instruction for
// 16 of them and saves half of the memory, which the file's pages share between processes.
//
// Why our own kernel: measured with MiniLM's four products (1152×384, 384×384, 1536×384, 384×1536) times 128
// and 512 columns, one thread of an AVX-512 server processor, GFLOP/s of processor time, best of 15:
//   this file, fp16 in and out:  avx512 90–108,  avx2 96–105,  baseline 33–34
//   Eigen 3.4, fp32 in and out:  avx512 79–87
//   oneDNN 2.6, fp32 in and out: avx512 109–117
// Eigen cuts k by the cache sizes that it finds, so its bits differ between machines. oneDNN brings OpenMP
// and OpenCL into the host process and promises no order of sums. Neither takes fp16.
#include <algorithm>
#include <cmath>

#include "ane_direct/soft/lattice.h"
#include "ane_direct/soft/step_runner.h"

namespace anelane::soft {
namespace {

constexpr size_t kTileColumns = 256;
constexpr size_t kTileRowsMax = 192;
constexpr size_t kDepth = 384;
constexpr float kCeiling = 32768.0f;  // numerics N13

struct Tile {
  uint64_t batch, row, column;
  size_t rows, columns;
};

// How a step is cut into tiles.
struct Tiling {
  uint64_t batches, row_tiles, column_tiles;
  size_t tile_rows;
  Tiling(const Step& step, size_t threads) {
    batches = nest_positions(step.nest, step.nest.rank);
    column_tiles = (step.dims[kN] + kTileColumns - 1) / kTileColumns;
    tile_rows = kTileRowsMax;
    const auto count = [&] { return batches * column_tiles * ((step.dims[kM] + tile_rows - 1) / tile_rows); };
    while (threads > 1 && tile_rows > 4 * kPanelRows && count() < 2 * threads) tile_rows /= 2;
    row_tiles = (step.dims[kM] + tile_rows - 1) / tile_rows;
  }
  uint64_t tasks() const { return batches * row_tiles * column_tiles; }
  Tile tile(const Step& step, uint64_t task) const {
    Tile t{};
    t.column = task % column_tiles * kTileColumns;
    task /= column_tiles;
    t.row = task % row_tiles * tile_rows;
    t.batch = task / row_tiles;
    t.rows = static_cast<size_t>(std::min<uint64_t>(tile_rows, step.dims[kM] - t.row));
    t.columns = static_cast<size_t>(std::min<uint64_t>(kTileColumns, step.dims[kN] - t.column));
    return t;
  }
};

size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Scratch of one task, cut from the thread's floats.
struct Scratch {
  float* a;     // one panel: kDepth × kPanelRows
  float* b;     // kDepth × kTileColumns
  float* c;     // kTileRowsMax × kTileColumns
  float* bias;  // max(kTileRowsMax, kTileColumns)
  float* line;  // kDepth
  explicit Scratch(float* floats)
      : a(floats),
        b(a + kDepth * kPanelRows),
        c(b + kDepth * kTileColumns),
        bias(c + kTileRowsMax * kTileColumns),
        line(bias + kTileColumns) {}
  static constexpr size_t kFloats =
      kDepth * kPanelRows + kDepth * kTileColumns + kTileRowsMax * kTileColumns + kTileColumns + kDepth;
};
static_assert(kTileRowsMax <= kTileColumns && kTileRowsMax % kPanelRows == 0);

void pack_b(const Step& step, const uint16_t* b, size_t columns, size_t depth, const Kernels& kernels,
            const Scratch& scratch) {
  const size_t width = kernels.panel_columns;
  const uint64_t row = step.dims[kBRow], column = step.dims[kBCol];
  for (size_t first = 0; first < columns; first += width) {
    const size_t used = std::min(width, columns - first);
    float* panel = scratch.b + first * depth;
    if (column == 1) {
      kernels.pack_rows(b + first, row, depth, used, panel);
      continue;
    }
    for (size_t j = 0; j < width; ++j) {
      if (j >= used) {
        for (size_t k = 0; k < depth; ++k) panel[k * width + j] = 0;
        continue;
      }
      const uint16_t* from = b + (first + j) * column;
      if (row == 1) {
        kernels.from_half(from, scratch.line, depth);
        for (size_t k = 0; k < depth; ++k) panel[k * width + j] = scratch.line[k];
      } else {
        for (size_t k = 0; k < depth; ++k) panel[k * width + j] = half_to_float(from[k * row]);
      }
    }
  }
}

// Six rows of A as fp32, element (row, k) at k · 6 + row; rows behind the last are zero.
void pack_a(const Step& step, const uint16_t* a, size_t rows, size_t depth, const Kernels& kernels,
            const Scratch& scratch) {
  const uint64_t row = step.dims[kARow], column = step.dims[kACol];
  for (size_t i = 0; i < kPanelRows; ++i) {
    if (i >= rows) {
      for (size_t k = 0; k < depth; ++k) scratch.a[k * kPanelRows + i] = 0;
    } else if (column == 1) {
      kernels.from_half(a + i * row, scratch.line, depth);
      for (size_t k = 0; k < depth; ++k) scratch.a[k * kPanelRows + i] = scratch.line[k];
    } else {
      for (size_t k = 0; k < depth; ++k)
        scratch.a[k * kPanelRows + i] = half_to_float(a[i * row + k * column]);
    }
  }
}

void finish_tile(const Step& step, const StepMemory& memory, const Kernels& kernels, const Scratch& scratch,
                 const Tile& tile, const NestOffsets& at) {
  GemmStore how;
  how.ceiling = (step.flags & kSingleTap) != 0 ? 0 : kCeiling;
  if ((step.flags & kHasC) != 0) {
    const uint16_t* bias = memory.read(step.c) + at.c;
    if (step.dims[kCRow] != 0) {
      kernels.from_half(bias + tile.row, scratch.bias, tile.rows);
      how.row_bias = scratch.bias;
    } else {
      kernels.from_half(bias + tile.column, scratch.bias, tile.columns);
      how.column_bias = scratch.bias;
    }
  }
  const size_t stride = round_up(tile.columns, kernels.panel_columns);
  uint16_t* out = memory.write(step.out) + at.out;
  for (size_t i = 0; i < tile.rows; ++i)
    kernels.gemm_store(scratch.c + i * stride, out + (tile.row + i) * step.dims[kOutRow] + tile.column,
                       tile.columns, how, i);
}

void run_tile(const Step& step, const StepMemory& memory, const Kernels& kernels, const Scratch& scratch,
              const Tile& tile) {
  const NestOffsets at = nest_offsets(step.nest, step.nest.rank, tile.batch);
  const uint64_t k = step.dims[kK];
  const size_t width = kernels.panel_columns;
  const size_t stride = round_up(tile.columns, width);
  const uint16_t* a = memory.read(step.a) + at.a;
  const uint16_t* b = memory.read(step.b) + at.b + tile.column * step.dims[kBCol];
  for (uint64_t start = 0; start < k; start += kDepth) {
    const size_t depth = static_cast<size_t>(std::min<uint64_t>(kDepth, k - start));
    pack_b(step, b + start * step.dims[kBRow], tile.columns, depth, kernels, scratch);
    for (size_t row = 0; row < tile.rows; row += kPanelRows) {
      if ((step.flags & kPackedA) != 0) {
        kernels.from_half(a + (tile.row + row) * k + start * kPanelRows, scratch.a, depth * kPanelRows);
      } else {
        pack_a(step, a + (tile.row + row) * step.dims[kARow] + start * step.dims[kACol],
               std::min(kPanelRows, tile.rows - row), depth, kernels, scratch);
      }
      for (size_t column = 0; column < tile.columns; column += width)
        kernels.gemm(scratch.a, scratch.b + column * depth, scratch.c + row * stride + column, stride, depth,
                     std::min(width, tile.columns - column), start == 0);
    }
  }
  finish_tile(step, memory, kernels, scratch, tile, at);
}

}  // namespace

size_t gemm_scratch_floats(const Step&, const Kernels&) {
  return Scratch::kFloats;
}

void run_gemm(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const Tiling tiling(step, context.pool.threads());
  context.pool.run(tiling.tasks(), [&](size_t task, size_t thread) {
    run_tile(step, memory, context.kernels, Scratch(context.workspace.scratch(thread)),
             tiling.tile(step, task));
  });
}

void run_gemm_lattice(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const auto& d = step.dims;
  const bool packed = (step.flags & kPackedA) != 0;
  const uint64_t batches = nest_positions(step.nest, step.nest.rank);
  context.pool.run(batches * d[kM], [&](size_t task, size_t) {
    const uint64_t row = task % d[kM];
    const NestOffsets at = nest_offsets(step.nest, step.nest.rank, task / d[kM]);
    const uint16_t* a = memory.read(step.a) + at.a;
    const uint16_t* b = memory.read(step.b) + at.b;
    const uint64_t first = packed ? row / kPanelRows * kPanelRows * d[kK] + row % kPanelRows : row * d[kARow];
    const uint64_t a_step = packed ? kPanelRows : d[kACol];
    for (uint64_t column = 0; column < d[kN]; ++column) {
      LatticeSum sum((step.flags & kSingleTap) == 0);
      for (uint64_t k = 0; k < d[kK]; ++k)
        sum.add(half_to_float(a[first + k * a_step]) * half_to_float(b[k * d[kBRow] + column * d[kBCol]]));
      Half value = lattice_store(sum.total());
      if ((step.flags & kHasC) != 0)
        value = lattice_bias(value, (memory.read(step.c) + at.c)[row * d[kCRow] + column * d[kCCol]]);
      (memory.write(step.out) + at.out)[row * d[kOutRow] + column] = value;
    }
  });
}

}  // namespace anelane::soft
