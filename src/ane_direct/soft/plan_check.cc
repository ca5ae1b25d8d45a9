// A plan may come from a file that somebody damaged or forged, so nothing of it is trusted: every operand of
// every step is bounded by its space here, once, and the executor then runs without looking. Extents and
// strides are limited so that no sum below can pass 2^63.
#include <algorithm>

#include "ane_direct/soft/plan.h"
#include "base/limits.h"

namespace anelane::soft {
namespace {

constexpr uint64_t kMaxExtent = limits::kMaxTensorElements;
constexpr int64_t kMaxReach = int64_t{1} << 50;  // bytes

class StepCheck {
 public:
  StepCheck(const Step& step, uint64_t arena, uint64_t weights)
      : step_(step), arena_(arena), weights_(weights) {}
  bool run();

 private:
  // Elements from `low` to `high` around the view's origin are inside its space.
  bool span(const View& view, int64_t low, int64_t high, uint64_t width, bool written) const {
    if (view.space != Space::kArena && view.space != Space::kWeights) return false;
    if (written && view.space == Space::kWeights) return false;
    const uint64_t size = view.space == Space::kArena ? arena_ : weights_;
    if (view.offset > size || view.offset % width != 0 || low < -kMaxReach || high > kMaxReach) return false;
    const uint64_t before = static_cast<uint64_t>(-low) * width;
    const uint64_t behind = static_cast<uint64_t>(high + 1) * width;
    return low <= 0 && high >= 0 && before <= view.offset && behind <= size - view.offset;
  }
  // Widens [low, high] by one axis.
  static bool reach(uint64_t extent, int64_t stride, int64_t* low, int64_t* high) {
    if (extent == 0 || extent > kMaxExtent) return false;
    const int64_t last = static_cast<int64_t>(extent - 1);
    if (last != 0 && (stride > kMaxReach / last || stride < -kMaxReach / last)) return false;
    (stride < 0 ? *low : *high) += last * stride;
    return *low > -kMaxReach && *high < kMaxReach;
  }
  bool dense(const View& view, uint64_t elements, uint64_t width, bool written) const {
    return elements != 0 && elements <= kMaxExtent &&
           span(view, 0, static_cast<int64_t>(elements) - 1, width, written);
  }
  bool nest(const View& view, const std::array<int64_t, kNestRank>& strides, bool written, int64_t low = 0,
            int64_t high = 0) const {
    if (step_.nest.rank > kNestRank) return false;
    for (size_t i = 0; i < step_.nest.rank; ++i)
      if (!reach(step_.nest.extent[i], strides[i], &low, &high)) return false;
    return span(view, low, high, 2, written);
  }
  static bool product(std::initializer_list<uint64_t> factors, uint64_t* total) {
    *total = 1;
    for (const uint64_t factor : factors) {
      if (factor == 0 || factor > kMaxExtent / *total) return false;
      *total *= factor;
    }
    return true;
  }
  bool strides() const;
  bool gemm() const;
  bool im2col() const;
  bool along_axis() const;

  const Step& step_;
  uint64_t arena_;
  uint64_t weights_;
};

bool StepCheck::gemm() const {
  const auto& d = step_.dims;
  for (const GemmDim dim : {kARow, kACol, kBRow, kBCol, kOutRow, kCRow, kCCol})
    if (d[dim] > kMaxExtent) return false;
  const auto matrix = [&](const View& view, const std::array<int64_t, kNestRank>& strides, uint64_t rows,
                          uint64_t row, uint64_t columns, uint64_t column, bool written) {
    int64_t low = 0, high = 0;
    return reach(rows, static_cast<int64_t>(row), &low, &high) &&
           reach(columns, static_cast<int64_t>(column), &low, &high) &&
           nest(view, strides, written, low, high);
  };
  if (d[kM] == 0 || d[kN] == 0 || d[kK] == 0 || d[kM] > kMaxExtent || d[kN] > kMaxExtent ||
      d[kK] > kMaxExtent)
    return false;
  const bool packed = (step_.flags & kPackedA) != 0;
  const bool a = packed
                     ? d[kM] <= kMaxExtent - kPanelRows &&
                           matrix(step_.a, step_.nest.a, (d[kM] + kPanelRows - 1) / kPanelRows * kPanelRows,
                                  d[kK], d[kK], 1, false)
                     : matrix(step_.a, step_.nest.a, d[kM], d[kARow], d[kK], d[kACol], false);
  const bool c =
      (step_.flags & kHasC) == 0 || matrix(step_.c, step_.nest.c, d[kM], d[kCRow], d[kN], d[kCCol], false);
  const bool bias =
      (step_.flags & kHasC) == 0 || (d[kCRow] == 1 && d[kCCol] == 0) || (d[kCRow] == 0 && d[kCCol] == 1);
  // Rows of the result must not overlap: tiles are written by different threads.
  const bool rows = d[kM] == 1 || d[kOutRow] >= d[kN];
  return a && c && bias && rows && matrix(step_.b, step_.nest.b, d[kK], d[kBRow], d[kN], d[kBCol], false) &&
         matrix(step_.out, step_.nest.out, d[kM], d[kOutRow], d[kN], 1, true);
}

bool StepCheck::im2col() const {
  const auto& d = step_.dims;
  uint64_t in = 0, out = 0;
  if (!product({d[kImages], d[kChannels], d[kHeight], d[kWidth]}, &in)) return false;
  if (!product({d[kImages], d[kChannels], d[kKernelH], d[kKernelW], d[kOutH], d[kOutW]}, &out)) return false;
  for (const Im2colDim dim : {kStrideH, kStrideW, kDilationH, kDilationW, kPadTop, kPadLeft})
    if (d[dim] > kMaxExtent) return false;
  return dense(step_.a, in, 2, false) && dense(step_.out, out, 2, true);
}

bool StepCheck::along_axis() const {
  const auto& d = step_.dims;
  uint64_t all = 0;
  if (!product({d[0], d[1], d[2]}, &all)) return false;
  const bool c = (step_.flags & kHasC) == 0 || dense(step_.c, d[1], 2, false);
  const bool e = (step_.flags & kHasD) == 0 || dense(step_.d, d[1], 2, false);
  if (step_.kind != StepKind::kReduce && d[1] > limits::kMaxNormElements) return false;
  return c && e && dense(step_.a, all, 2, false) &&
         dense(step_.out, step_.kind == StepKind::kReduce ? d[0] * d[2] : all, 2, true);
}

// The executor computes the offsets of all four operands, used or not: none may overflow.
bool StepCheck::strides() const {
  if (step_.nest.rank > kNestRank) return false;
  for (const auto* strides : {&step_.nest.a, &step_.nest.b, &step_.nest.c, &step_.nest.out}) {
    int64_t low = 0, high = 0;
    for (size_t i = 0; i < step_.nest.rank; ++i)
      if (!reach(step_.nest.extent[i], (*strides)[i], &low, &high)) return false;
  }
  return true;
}

bool StepCheck::run() {
  if (!strides()) return false;
  switch (step_.kind) {
    case StepKind::kGemm:
      return gemm();
    case StepKind::kIm2col:
      return im2col();
    case StepKind::kBinary:
      return step_.fn < static_cast<uint8_t>(BinaryFn::kCount) && nest(step_.a, step_.nest.a, false) &&
             nest(step_.b, step_.nest.b, false) && nest(step_.out, step_.nest.out, true);
    case StepKind::kUnary:
      return step_.fn < static_cast<uint8_t>(UnaryFn::kCount) && dense(step_.a, step_.dims[0], 2, false) &&
             dense(step_.out, step_.dims[0], 2, true);
    case StepKind::kReduce:
      return step_.fn < static_cast<uint8_t>(ReduceFn::kCount) && along_axis();
    case StepKind::kSoftmax:
    case StepKind::kLayerNorm:
      return along_axis();
    case StepKind::kCopy:
      return nest(step_.a, step_.nest.a, false) && nest(step_.out, step_.nest.out, true);
    case StepKind::kToHalf:
      return dense(step_.a, step_.dims[0], 4, false) && dense(step_.out, step_.dims[0], 2, true);
    case StepKind::kToFloat:
      return dense(step_.a, step_.dims[0], 2, false) && dense(step_.out, step_.dims[0], 4, true);
    case StepKind::kCount:
      break;
  }
  return false;
}

Status check_port(const PlanPort& port, uint64_t arena) {
  if (port.dtype != Dtype::kF16 && port.dtype != Dtype::kF32) return error(Code::kIo, "port of unknown type");
  if (port.shape.empty()) return error(Code::kIo, "port without axes");
  ANELANE_TRY(check_shape(port.shape, limits::kMaxAxis));
  const uint64_t bytes = element_count(port.shape) * dtype_size(port.dtype);
  if (port.offset % 4 != 0 || port.offset > arena || bytes > arena - port.offset)
    return error(Code::kIo, "port outside the arena");
  return {};
}

}  // namespace

Status check_plan(const Plan& plan, uint64_t weight_bytes) {
  if (plan.arena_bytes > limits::kMaxArenaBytes || plan.inputs.empty() || plan.outputs.empty())
    return error(Code::kIo, "plan header out of range");
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (!StepCheck(plan.steps[i], plan.arena_bytes, weight_bytes).run())
      return error(Code::kIo, "plan step " + std::to_string(i) + " is out of range")
          .with_item(static_cast<int64_t>(i));
  for (const auto* ports : {&plan.inputs, &plan.outputs})
    for (const PlanPort& port : *ports) ANELANE_TRY(check_port(port, plan.arena_bytes));
  return {};
}

}  // namespace anelane::soft
