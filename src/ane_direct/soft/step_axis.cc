// Softmax, layer norm and reductions along one axis, seen as outer × reduced × inner. Data is brought into
// fp32 tiles of `reduced` rows × 64 lanes; a lane is one (outer, inner) position, so each result is one chain
// along the axis from first to last, however wide the vectors are. Lanes are neighbours in memory when the
// inner extent is large, and rows of the outer extent when it is not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ane_direct/soft/lattice.h"
#include "ane_direct/soft/step_runner.h"

namespace anelane::soft {
namespace {

constexpr size_t kReduceRows = 1024;  // rows of a tile that only sums up: it is filled again and again

struct Axis {
  const Step& step;
  uint64_t outer, reduced, inner;
  uint64_t lanes() const { return outer * inner; }
  // Element (lane, 0) of x; neighbours along the axis are `inner` apart.
  uint64_t first(uint64_t lane) const { return lane / inner * reduced * inner + lane % inner; }
};

size_t tile_rows(const Step& step) {
  return static_cast<size_t>(step.kind == StepKind::kReduce ? std::min<uint64_t>(step.dims[1], kReduceRows)
                                                            : step.dims[1]);
}

// Calls part(lane in the tile, count, element) for runs of lanes that are neighbours in memory.
template <class Part>
void runs(const Axis& axis, uint64_t lane, size_t count, Part part) {
  for (size_t done = 0; done < count;) {
    const uint64_t left = axis.inner - (lane + done) % axis.inner;
    const size_t n = static_cast<size_t>(std::min<uint64_t>(left, count - done));
    part(done, n, axis.first(lane + done));
    done += n;
  }
}

void load_tile(const Axis& axis, const uint16_t* x, uint64_t lane, size_t count, uint64_t row, size_t rows,
               const Kernels& kernels, float* tile) {
  for (size_t r = 0; r < rows && count < kTileLanes; ++r)
    std::fill(tile + r * kTileLanes + count, tile + (r + 1) * kTileLanes, 0.0f);
  runs(axis, lane, count, [&](size_t at, size_t n, uint64_t element) {
    const uint16_t* from = x + element + row * axis.inner;
    if (n == 1) {
      for (size_t r = 0; r < rows; ++r) tile[r * kTileLanes + at] = half_to_float(from[r * axis.inner]);
    } else {
      for (size_t r = 0; r < rows; ++r)
        kernels.from_half(from + r * axis.inner, tile + r * kTileLanes + at, n);
    }
  });
}

void store_tile(const Axis& axis, const float* tile, uint64_t lane, size_t count, const Kernels& kernels,
                uint16_t* out) {
  runs(axis, lane, count, [&](size_t at, size_t n, uint64_t element) {
    for (uint64_t r = 0; r < axis.reduced; ++r) {
      const float* from = tile + r * kTileLanes + at;
      if (n == 1) {
        out[element + r * axis.inner] = float_to_half(*from);
      } else {
        kernels.to_half(from, out + element + r * axis.inner, n);
      }
    }
  });
}

void reduce_lanes(const Axis& axis, const uint16_t* x, uint64_t lane, size_t count, const Kernels& kernels,
                  float* scratch, uint16_t* out) {
  const ReduceFn fn = static_cast<ReduceFn>(axis.step.fn);
  const bool adds = fn == ReduceFn::kSum || fn == ReduceFn::kMean;
  const auto kernel = adds                   ? kernels.reduce_sum
                      : fn == ReduceFn::kMax ? kernels.reduce_max
                                             : kernels.reduce_min;
  float total[kTileLanes];
  std::fill(std::begin(total), std::end(total), adds ? 0.0f : fn == ReduceFn::kMax ? -HUGE_VALF : HUGE_VALF);
  for (uint64_t row = 0; row < axis.reduced; row += kReduceRows) {
    const size_t rows = static_cast<size_t>(std::min<uint64_t>(kReduceRows, axis.reduced - row));
    load_tile(axis, x, lane, count, row, rows, kernels, scratch);
    kernel(scratch, rows, total);
  }
  for (size_t i = 0; i < count; ++i) {
    if (fn == ReduceFn::kMean) total[i] /= static_cast<float>(axis.reduced);
    out[lane + i] = std::isnan(total[i]) ? Half{0} : float_to_half(total[i]);
  }
}

// Sums by the lattice; they are exempt from the multiply-accumulate ceiling (numerics N15).
void reduce_lattice(const Axis& axis, const uint16_t* x, uint64_t lane, size_t count, uint16_t* out) {
  const bool mean = static_cast<ReduceFn>(axis.step.fn) == ReduceFn::kMean;
  for (size_t i = 0; i < count; ++i) {
    LatticeSum sum(false);
    for (uint64_t r = 0; r < axis.reduced; ++r)
      sum.add(half_to_float(x[axis.first(lane + i) + r * axis.inner]));
    out[lane + i] = float_to_half(mean ? sum.total() / static_cast<float>(axis.reduced) : sum.total());
  }
}

}  // namespace

size_t axis_scratch_floats(const Step& step) {
  const size_t parameters = step.kind == StepKind::kLayerNorm ? 2 * static_cast<size_t>(step.dims[1]) : 0;
  return tile_rows(step) * kTileLanes + parameters;
}

void run_along_axis(const Step& step, const StepMemory& memory, const ExecutorContext& context) {
  const Axis axis{step, step.dims[0], step.dims[1], step.dims[2]};
  const Kernels& kernels = context.kernels;
  const uint16_t* x = memory.read(step.a);
  uint16_t* out = memory.write(step.out);
  const bool adds =
      step.fn == static_cast<uint8_t>(ReduceFn::kSum) || step.fn == static_cast<uint8_t>(ReduceFn::kMean);
  const uint64_t lanes = axis.lanes();
  const auto task = [&](size_t index, size_t thread) {
    float* tile = context.workspace.scratch(thread);
    const uint64_t lane = index * kTileLanes;
    const size_t count = static_cast<size_t>(std::min<uint64_t>(kTileLanes, lanes - lane));
    if (step.kind == StepKind::kReduce) {
      if (context.numerics == Numerics::kLattice && adds) return reduce_lattice(axis, x, lane, count, out);
      return reduce_lanes(axis, x, lane, count, kernels, tile, out);
    }
    const size_t rows = static_cast<size_t>(axis.reduced);
    load_tile(axis, x, lane, count, 0, rows, kernels, tile);
    if (step.kind == StepKind::kSoftmax) {
      kernels.softmax(tile, rows);
    } else {
      float* gamma = tile + rows * kTileLanes;
      float* beta = gamma + rows;
      if ((step.flags & kHasC) != 0) kernels.from_half(memory.read(step.c), gamma, rows);
      if ((step.flags & kHasD) != 0) kernels.from_half(memory.read(step.d), beta, rows);
      kernels.layer_norm(tile, rows, (step.flags & kHasC) != 0 ? gamma : nullptr,
                         (step.flags & kHasD) != 0 ? beta : nullptr, step.scalars[0]);
    }
    store_tile(axis, tile, lane, count, kernels, out);
  };
  context.pool.run((lanes + kTileLanes - 1) / kTileLanes, task);
}

}  // namespace anelane::soft
