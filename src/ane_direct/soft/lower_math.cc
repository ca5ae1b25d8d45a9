// Operations that compute. Convolutions and products become one matrix product each (a convolution of more
// than one tap after its input was unfolded), functions of one value become tables, everything along axes
// becomes outer × reduced × inner.
#include <algorithm>
#include <array>

#include "ane_direct/soft/lowering.h"
#include "base/limits.h"

namespace anelane::soft {

Status Lowering::conv(const GraphOp& op) {
  ANELANE_ASSIGN(const ConvGeometry g, resolve_conv(op.call));
  const Shape& x = shape(op.operand("x"));
  const Shape& w = shape(op.operand("weight"));
  const uint64_t m = w[0] / g.groups;
  const uint64_t k = w[1] * w[2] * w[3];
  const uint64_t n = g.out[0] * g.out[1];
  const bool pointwise =
      g.kernel[0] == 1 && g.kernel[1] == 1 && g.stride[0] == 1 && g.stride[1] == 1 && n == x[2] * x[3];
  Step step;
  if (pointwise) {
    step.b = use(op.operand("x"));
  } else {
    Step columns;
    columns.kind = StepKind::kIm2col;
    columns.a = use(op.operand("x"));
    columns.dims = {
        x[0],     x[1],        x[2],        x[3],          g.kernel[0],   g.kernel[1],     g.out[0],
        g.out[1], g.stride[0], g.stride[1], g.dilation[0], g.dilation[1], g.pad_before[0], g.pad_before[1]};
    const uint64_t elements = x[0] * x[1] * g.kernel[0] * g.kernel[1];
    if (elements > limits::kMaxTensorElements / n)
      return error(Code::kCompileFailed, "the unfolded input of the convolution is too large");
    const Place place{false, new_buffer(elements * n * 2), 0};
    columns.out = use(place);
    push(columns);
    step.b = use(place);
  }
  step.kind = StepKind::kGemm;
  step.flags = kPackedA | (k == 1 ? kSingleTap : 0);
  step.a = packed(graph_.values[op.operand("weight")].constant, g.groups, m, k);
  if (op.has("bias")) {
    step.flags |= kHasC;
    step.c = use(op.operand("bias"));
  }
  step.out = make(op.results[0]);
  step.dims = {m, n, k, 0, 0, n, 1, n, 1, 0};
  step.nest.rank = 2;
  step.nest.extent = {x[0], g.groups};
  step.nest.a = {0, static_cast<int64_t>(panel_elements(m, k))};
  step.nest.b = {static_cast<int64_t>(g.groups * k * n), static_cast<int64_t>(k * n)};
  step.nest.c = {0, static_cast<int64_t>(m)};
  step.nest.out = {static_cast<int64_t>(w[0] * n), static_cast<int64_t>(m * n)};
  push(step);
  return {};
}

Status Lowering::linear(const GraphOp& op) {
  const Shape& w = shape(op.operand("weight"));
  Step step;
  step.kind = StepKind::kGemm;
  step.a = use(op.operand("x"));
  step.b = use(op.operand("weight"));
  if (op.has("bias")) {
    step.flags |= kHasC;
    step.c = use(op.operand("bias"));
  }
  step.out = make(op.results[0]);
  const uint64_t rows = element_count(shape(op.operand("x"))) / w[1];
  step.dims = {rows, w[0], w[1], w[1], 1, 1, w[1], w[0], 0, 1};
  push(step);
  return {};
}

Status Lowering::matmul(const GraphOp& op) {
  const Shape& x = shape(op.operand("x"));
  const Shape& y = shape(op.operand("y"));
  const Shape& out = shape(op.results[0]);
  const bool tx = op.has("transpose_x") && op.call.integer("transpose_x") != 0;
  const bool ty = op.has("transpose_y") && op.call.integer("transpose_y") != 0;
  const uint64_t m = out[out.size() - 2], n = out[out.size() - 1];
  const uint64_t xc = x.back(), yc = y.back();
  const uint64_t k = tx ? x[x.size() - 2] : xc;
  Step step;
  step.kind = StepKind::kGemm;
  step.a = use(op.operand("x"));
  step.b = use(op.operand("y"));
  step.out = make(op.results[0]);
  step.dims = {m, n, k, tx ? 1 : xc, tx ? xc : 1, ty ? 1 : yc, ty ? yc : 1, n};
  const Shape batch(out.begin(), out.end() - 2);
  const auto strides = [&](const Shape& s) {
    Strides all = repeat_strides(Shape(s.begin(), s.end() - 2), batch);
    for (int64_t& stride : all) stride *= static_cast<int64_t>(s[s.size() - 1] * s[s.size() - 2]);
    return all;
  };
  step.nest = make_nest(batch, strides(x), strides(y), strides(out));
  push(step);
  return {};
}

Status Lowering::binary(const GraphOp& op, BinaryFn fn) {
  const uint32_t y = op.operand("y");
  const uint32_t constant_y = graph_.values[y].constant;
  if (fn == BinaryFn::kPow && constant_y != kNoIndex && graph_.constants[constant_y].size() == 1 &&
      shape(op.operand("x")) == shape(op.results[0]))
    return unary(op, UnaryFn::kPowScalar, half_to_float(graph_.constants[constant_y].at(0)), 0);
  const Shape& out = shape(op.results[0]);
  Step step;
  step.kind = StepKind::kBinary;
  step.fn = static_cast<uint8_t>(fn);
  step.a = use(op.operand("x"));
  step.b = use(y);
  step.out = make(op.results[0]);
  step.nest = make_nest(out, repeat_strides(shape(op.operand("x")), out), repeat_strides(shape(y), out),
                        repeat_strides(out, out));
  push(step);
  return {};
}

Status Lowering::unary(const GraphOp& op, UnaryFn fn, float alpha, float beta) {
  Step step;
  step.kind = StepKind::kUnary;
  step.fn = static_cast<uint8_t>(fn);
  step.a = use(op.operand("x"));
  step.out = make(op.results[0]);
  step.dims[0] = element_count(shape(op.results[0]));
  step.scalars = {alpha, beta};
  push(step);
  return {};
}

// Reductions, softmax and layer norm as outer × reduced × inner. Reduced axes that are not neighbours are
// brought together by a transposed copy first (then the result, if it has x's shape, would be transposed:
// only reductions come this way).
Status Lowering::along_axes(const GraphOp& op, StepKind kind, uint8_t fn, std::span<const int64_t> given) {
  uint32_t x = op.operand("x");
  const Shape& xs = shape(x);
  ANELANE_ASSIGN(std::vector<size_t> axes, resolve_axes(given, xs.size()));
  std::erase_if(axes, [&](size_t axis) { return xs[axis] == 1; });
  Step step;
  step.kind = kind;
  step.fn = fn;
  step.dims = {1, 1, 1};
  const auto is_reduced = [&](size_t i) { return std::find(axes.begin(), axes.end(), i) != axes.end(); };
  bool neighbours = true;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (xs[i] == 1) continue;
    if (is_reduced(i)) {
      if (step.dims[2] != 1) neighbours = false;
      step.dims[1] *= xs[i];
    } else {
      step.dims[step.dims[1] == 1 ? 0 : 2] *= xs[i];
    }
  }
  if (neighbours) {
    step.a = use(x);
  } else {
    if (kind != StepKind::kReduce)
      return error(Code::kCompileFailed,
                   std::string(op.call.info->name) + " over axes that are not neighbours");
    const Strides dense = dense_strides(xs);
    Shape extent;
    Strides from;
    for (const bool reduced : {false, true}) {
      for (size_t i = 0; i < xs.size(); ++i) {
        if (is_reduced(i) != reduced) continue;
        extent.push_back(xs[i]);
        from.push_back(dense[i]);
      }
    }
    Step moved;
    moved.kind = StepKind::kCopy;
    moved.a = use(x);
    const Place place{false, new_buffer(element_count(xs) * 2), 0};
    moved.out = use(place);
    const Strides to = repeat_strides(extent, extent);
    moved.nest = make_nest(extent, from, Strides(extent.size(), 0), to);
    push(moved);
    step.a = use(place);
    step.dims[0] = element_count(xs) / step.dims[1];
    step.dims[2] = 1;
  }
  if (kind != StepKind::kReduce && step.dims[1] > limits::kMaxNormElements)
    return error(Code::kCompileFailed, std::string(op.call.info->name) + " over more than " +
                                           std::to_string(limits::kMaxNormElements) + " elements");
  if (kind == StepKind::kLayerNorm) {
    step.scalars[0] = op.call.at("epsilon").number;
    if (op.has("gamma")) step.flags |= kHasC, step.c = use(op.operand("gamma"));
    if (op.has("beta")) step.flags |= kHasD, step.d = use(op.operand("beta"));
  }
  step.out = make(op.results[0]);
  push(step);
  return {};
}

namespace {

// Functions with constant parameters; nullptr: none.
struct Parametric {
  MilOp op;
  UnaryFn fn;
  const char* alpha;
  const char* beta;
};

constexpr std::array kParametric = {
    Parametric{MilOp::kRsqrt, UnaryFn::kRsqrt, "epsilon", nullptr},
    Parametric{MilOp::kLog, UnaryFn::kLog, "epsilon", nullptr},
    Parametric{MilOp::kInverse, UnaryFn::kInverse, "epsilon", nullptr},
    Parametric{MilOp::kClip, UnaryFn::kClip, "alpha", "beta"},
    Parametric{MilOp::kLeakyRelu, UnaryFn::kLeakyRelu, "alpha", nullptr},
    Parametric{MilOp::kElu, UnaryFn::kElu, "alpha", nullptr},
    Parametric{MilOp::kLinearActivation, UnaryFn::kLinear, "alpha", "beta"},
    Parametric{MilOp::kSigmoidHard, UnaryFn::kSigmoidHard, "alpha", "beta"},
    Parametric{MilOp::kClampedRelu, UnaryFn::kClampedRelu, "alpha", "beta"},
};

UnaryFn gelu_fn(const std::string& mode) {
  if (mode == "EXACT") return UnaryFn::kGeluExact;
  return mode == "TANH_APPROXIMATION" ? UnaryFn::kGeluTanh : UnaryFn::kGeluSigmoid;
}

constexpr int distance(MilOp from, MilOp to) {
  return static_cast<int>(to) - static_cast<int>(from);
}

// The plain functions, the reductions and the arithmetic stand in the same order in both lists.
static_assert(distance(MilOp::kAbs, MilOp::kAtan) == static_cast<int>(UnaryFn::kAtan));
static_assert(distance(MilOp::kReduceSum, MilOp::kReduceMin) == static_cast<int>(ReduceFn::kMin));
static_assert(distance(MilOp::kAdd, MilOp::kPow) == static_cast<int>(BinaryFn::kPow));

}  // namespace

Status Lowering::compute(const GraphOp& op) {
  const MilOp kind = op.call.info->op;
  for (const Parametric& known : kParametric)
    if (known.op == kind)
      return unary(op, known.fn, op.call.at(known.alpha).number,
                   known.beta == nullptr ? 0 : op.call.at(known.beta).number);
  if (kind >= MilOp::kAdd && kind <= MilOp::kPow)
    return binary(op, static_cast<BinaryFn>(distance(MilOp::kAdd, kind)));
  if (kind >= MilOp::kAbs && kind <= MilOp::kAtan)
    return unary(op, static_cast<UnaryFn>(distance(MilOp::kAbs, kind)), 0, 0);
  switch (kind) {
    case MilOp::kConv:
      return conv(op);
    case MilOp::kLinear:
      return linear(op);
    case MilOp::kMatmul:
      return matmul(op);
    case MilOp::kGelu:
      return unary(op, gelu_fn(op.call.at("mode").text), 0, 0);
    case MilOp::kSoftmax:
      return along_axes(op, StepKind::kSoftmax, 0, op.call.at("axis").ints);
    case MilOp::kLayerNorm:
      return along_axes(op, StepKind::kLayerNorm, 0, op.call.at("axes").ints);
    case MilOp::kReduceSum:
    case MilOp::kReduceMean:
    case MilOp::kReduceMax:
    case MilOp::kReduceMin:
      return along_axes(op, StepKind::kReduce, static_cast<uint8_t>(distance(MilOp::kReduceSum, kind)),
                        op.call.at("axes").ints);
    default:
      return error(Code::kInternal, std::string("operation ") + op.call.info->name + " has no lowering");
  }
}

}  // namespace anelane::soft
