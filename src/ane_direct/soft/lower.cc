// One pass over the operations. Every value gets a place: a buffer of the arena with an element offset, or
// constants. Dense row-major everywhere, so reshape, squeeze, identity and slices that are one contiguous
// run cost nothing: their value shares the buffer. Everything else becomes one or two steps; buffers live
// from the step that writes them to the last step that reads them or an alias of them.
//
// Weights of convolutions are packed here into panels of kPanelRows rows, element (m, k) at
// panel(m / 6) + k · 6 + m % 6, because a plan is made once and run often. A NaN constant becomes +inf
// like any NaN that enters the engine (numerics N20).
#include "ane_direct/soft/lower.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ane_direct/soft/arena_layout.h"
#include "base/limits.h"

namespace anelane::soft {
namespace {

struct Place {
  bool constant = false;
  uint32_t buffer = kNoIndex;
  uint64_t offset = 0;  // bytes: inside the buffer, or inside the constants
};

using Strides = std::array<int64_t, kNestRank>;

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Strides of `shape` seen as a tensor of shape `out` (aligned at the last axis, 0 where it repeats).
std::vector<int64_t> repeat_strides(const Shape& shape, const Shape& out) {
  const Shape dense = dense_strides(shape);
  std::vector<int64_t> strides(out.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t to = out.size() - shape.size() + i;
    if (shape[i] != 1) strides[to] = static_cast<int64_t>(dense[i]);
  }
  return strides;
}

// Joins axes that every operand walks through in one stride, and drops axes of 1.
Nest make_nest(const Shape& extent, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
               const std::vector<int64_t>& out) {
  Nest nest;
  for (size_t i = 0; i < extent.size(); ++i) {
    if (extent[i] == 1) continue;
    if (nest.rank != 0) {
      const size_t last = nest.rank - 1u;
      const int64_t n = static_cast<int64_t>(extent[i]);
      if (nest.a[last] == a[i] * n && nest.b[last] == b[i] * n && nest.out[last] == out[i] * n) {
        nest.extent[last] *= extent[i];
        nest.a[last] = a[i];
        nest.b[last] = b[i];
        nest.out[last] = out[i];
        continue;
      }
    }
    nest.extent[nest.rank] = extent[i];
    nest.a[nest.rank] = a[i];
    nest.b[nest.rank] = b[i];
    nest.out[nest.rank] = out[i];
    ++nest.rank;
  }
  return nest;
}

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph), places_(graph.values.size()) {}
  Result<Plan> run();

 private:
  const Shape& shape(uint32_t value) const { return graph_.values[value].shape; }
  uint32_t new_buffer(uint64_t bytes);
  View use(uint32_t value);  // as operand of the step being made
  View use(const Place& place);
  View make(uint32_t value);  // as result of the step being made
  Place constant(uint32_t index);
  View packed(uint32_t index, uint64_t groups, uint64_t m, uint64_t k);
  uint64_t add_weights(uint64_t elements);
  void put(uint64_t byte, Half half);
  void push(Step step) { plan_.steps.push_back(std::move(step)); }
  uint32_t now() const { return static_cast<uint32_t>(plan_.steps.size()); }

  Status op(const GraphOp& op);
  Status conv(const GraphOp& op);
  Status linear(const GraphOp& op);
  Status matmul(const GraphOp& op);
  Status binary(const GraphOp& op, BinaryFn fn);
  Status unary(const GraphOp& op, UnaryFn fn, float alpha, float beta);
  Status along_axes(const GraphOp& op, StepKind kind, uint8_t fn, std::span<const int64_t> axes);
  Status copy(uint32_t from, const std::vector<int64_t>& strides, int64_t first, uint32_t to, uint8_t flags);
  Status slice(const GraphOp& op);
  Status split(const GraphOp& op);
  Status concat(const GraphOp& op);
  Status transpose(const GraphOp& op);
  void alias(uint32_t from, uint64_t byte_offset, uint32_t to);

  const Graph& graph_;
  Plan plan_;
  std::vector<Place> places_;
  std::vector<ArenaBuffer> buffers_;
  std::map<uint32_t, uint64_t> raw_;                                               // constant → byte offset
  std::map<std::tuple<uint32_t, uint64_t, uint64_t, uint64_t>, uint64_t> panels_;  // packed constants
};

uint32_t Lowering::new_buffer(uint64_t bytes) {
  buffers_.push_back({bytes, now(), now(), 0});
  return static_cast<uint32_t>(buffers_.size() - 1);
}

uint64_t Lowering::add_weights(uint64_t elements) {
  const uint64_t offset = plan_.weights.size();
  plan_.weights.resize(offset + (elements * 2 + 63) / 64 * 64);
  return offset;
}

void Lowering::put(uint64_t byte, Half half) {
  if ((half & 0x7fffu) > 0x7c00u) half = 0x7c00;
  plan_.weights[byte] = static_cast<uint8_t>(half);
  plan_.weights[byte + 1] = static_cast<uint8_t>(half >> 8);
}

Place Lowering::constant(uint32_t index) {
  const GraphConstant& data = graph_.constants[index];
  const auto [found, fresh] = raw_.try_emplace(index, 0);
  if (fresh) {
    found->second = add_weights(data.size());
    for (size_t i = 0; i < data.size(); ++i) put(found->second + 2 * i, data.at(i));
  }
  return {true, kNoIndex, found->second};
}

View Lowering::packed(uint32_t index, uint64_t groups, uint64_t m, uint64_t k) {
  const GraphConstant& data = graph_.constants[index];
  const auto [found, fresh] = panels_.try_emplace({index, groups, m, k}, 0);
  if (fresh) {
    found->second = add_weights(groups * panel_elements(m, k));
    for (uint64_t g = 0; g < groups; ++g) {
      const uint64_t base = found->second + 2 * g * panel_elements(m, k);
      for (uint64_t row = 0; row < m; ++row) {
        const uint64_t panel = row / kPanelRows * kPanelRows * k + row % kPanelRows;
        for (uint64_t i = 0; i < k; ++i)
          put(base + 2 * (panel + i * kPanelRows), data.at((g * m + row) * k + i));
      }
    }
  }
  return {Space::kWeights, found->second};
}

// Buffer offsets are filled in by run(): until then a view of the arena holds the buffer's index in its
// upper 32 bits. Offsets inside a buffer fit the lower 32 (kMaxTensorElements × 4 bytes is checked there).
View Lowering::use(const Place& place) {
  if (place.constant) return {Space::kWeights, place.offset};
  ArenaBuffer& buffer = buffers_[place.buffer];
  buffer.last_step = std::max(buffer.last_step, now());
  return {Space::kArena, static_cast<uint64_t>(place.buffer) << 40 | place.offset};
}

View Lowering::use(uint32_t value) {
  const GraphValue& v = graph_.values[value];
  return use(v.constant != kNoIndex ? constant(v.constant) : places_[value]);
}

View Lowering::make(uint32_t value) {
  const uint64_t bytes = element_count(shape(value)) * dtype_size(graph_.values[value].dtype);
  places_[value] = {false, new_buffer(bytes), 0};
  return use(places_[value]);
}

void Lowering::alias(uint32_t from, uint64_t byte_offset, uint32_t to) {
  const GraphValue& v = graph_.values[from];
  places_[to] = v.constant != kNoIndex ? constant(v.constant) : places_[from];
  places_[to].offset += byte_offset;
}

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
    std::vector<int64_t> all = repeat_strides(Shape(s.begin(), s.end() - 2), batch);
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
    const Shape dense = dense_strides(xs);
    Shape extent;
    std::vector<int64_t> from;
    for (const bool reduced : {false, true}) {
      for (size_t i = 0; i < xs.size(); ++i) {
        if (is_reduced(i) != reduced) continue;
        extent.push_back(xs[i]);
        from.push_back(static_cast<int64_t>(dense[i]));
      }
    }
    Step moved;
    moved.kind = StepKind::kCopy;
    moved.a = use(x);
    const Place place{false, new_buffer(element_count(xs) * 2), 0};
    moved.out = use(place);
    const std::vector<int64_t> to = repeat_strides(extent, extent);
    moved.nest = make_nest(extent, from, std::vector<int64_t>(extent.size(), 0), to);
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

// A strided walk over `from` (element `first` is the first) into the dense result `to`.
Status Lowering::copy(uint32_t from, const std::vector<int64_t>& strides, int64_t first, uint32_t to,
                      uint8_t flags) {
  const Shape& out = shape(to);
  Step step;
  step.kind = StepKind::kCopy;
  step.flags = flags;
  step.a = use(from);
  step.a.offset += static_cast<uint64_t>(first) * 2;
  step.out = make(to);
  step.nest = make_nest(out, strides, std::vector<int64_t>(out.size(), 0), repeat_strides(out, out));
  push(step);
  return {};
}

Status Lowering::slice(const GraphOp& op) {
  ANELANE_ASSIGN(const std::vector<SliceRange> ranges, resolve_slice(op.call));
  const Shape& x = shape(op.operand("x"));
  const Shape dense = dense_strides(x);
  const OpArg* squeeze = op.call.info->op == MilOp::kSliceByIndex ? &op.call.at("squeeze_mask") : nullptr;
  int64_t first = 0;
  std::vector<int64_t> strides;
  bool one_run = true;  // contiguous: leading axes of one element, one cut axis, whole axes behind it
  bool partial = false;
  for (size_t i = 0; i < x.size(); ++i) {
    first += ranges[i].begin * static_cast<int64_t>(dense[i]);
    if (squeeze == nullptr || !squeeze->given || squeeze->ints[i] == 0)
      strides.push_back(ranges[i].count == 1 ? 0 : ranges[i].step * static_cast<int64_t>(dense[i]));
    if (ranges[i].count != 1 && ranges[i].step != 1) one_run = false;
  }
  for (size_t i = x.size(); i-- > 0;) {
    if (partial && ranges[i].count != 1) one_run = false;
    if (ranges[i].count != x[i]) partial = true;
  }
  const bool crop = ranges.back().begin != 0;
  if (one_run && !crop) {
    alias(op.operand("x"), static_cast<uint64_t>(first) * 2, op.results[0]);
    return {};
  }
  return copy(op.operand("x"), strides, first, op.results[0], crop ? kWidthCrop : 0);
}

Status Lowering::split(const GraphOp& op) {
  const Shape& x = shape(op.operand("x"));
  ANELANE_ASSIGN(const size_t axis, resolve_axis(op.call.integer("axis"), x.size()));
  const Shape dense = dense_strides(x);
  const bool one_run = std::all_of(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis),
                                   [](uint64_t n) { return n == 1; });
  uint64_t begin = 0;
  for (const uint32_t result : op.results) {
    const uint64_t first = begin * dense[axis];
    const bool crop = begin != 0 && axis + 1 == x.size();
    if (one_run && !crop) {
      alias(op.operand("x"), first * 2, result);
    } else {
      ANELANE_TRY(copy(op.operand("x"), repeat_strides(x, x), static_cast<int64_t>(first), result,
                       crop ? kWidthCrop : 0));
    }
    begin += shape(result)[axis];
  }
  return {};
}

Status Lowering::concat(const GraphOp& op) {
  const Shape& out = shape(op.results[0]);
  ANELANE_ASSIGN(const size_t axis, resolve_axis(op.call.integer("axis"), out.size()));
  const Shape dense = dense_strides(out);
  std::vector<int64_t> to;
  for (size_t i = 0; i < out.size(); ++i) to.push_back(static_cast<int64_t>(dense[i]));
  const View whole = make(op.results[0]);
  uint64_t begin = 0;
  for (const uint32_t value : op.operands[static_cast<size_t>(op.call.info->param("values"))]) {
    const Shape& part = shape(value);
    Step step;
    step.kind = StepKind::kCopy;
    step.a = use(value);
    step.out = whole;
    step.out.offset += begin * dense[axis] * 2;
    use(op.results[0]);
    step.nest = make_nest(part, repeat_strides(part, part), std::vector<int64_t>(part.size(), 0), to);
    push(step);
    begin += part[axis];
  }
  return {};
}

Status Lowering::transpose(const GraphOp& op) {
  const Shape& x = shape(op.operand("x"));
  const Shape dense = dense_strides(x);
  std::vector<int64_t> strides;
  for (const int64_t axis : op.call.at("perm").ints) {
    ANELANE_ASSIGN(const size_t from, resolve_axis(axis, x.size()));
    strides.push_back(static_cast<int64_t>(dense[from]));
  }
  // Only axes of 1 move: the bytes stay.
  std::vector<int64_t> moving;
  for (size_t i = 0; i < strides.size(); ++i)
    if (shape(op.results[0])[i] != 1) moving.push_back(strides[i]);
  if (std::is_sorted(moving.rbegin(), moving.rend())) {
    alias(op.operand("x"), 0, op.results[0]);
    return {};
  }
  return copy(op.operand("x"), strides, 0, op.results[0], 0);
}

Status Lowering::op(const GraphOp& op) {
  const MilOp kind = op.call.info->op;
  const auto number = [&](const char* name) { return op.call.at(name).number; };
  switch (kind) {
    case MilOp::kConv:
      return conv(op);
    case MilOp::kLinear:
      return linear(op);
    case MilOp::kMatmul:
      return matmul(op);
    case MilOp::kAdd:
      return binary(op, BinaryFn::kAdd);
    case MilOp::kSub:
      return binary(op, BinaryFn::kSub);
    case MilOp::kMul:
      return binary(op, BinaryFn::kMul);
    case MilOp::kRealDiv:
      return binary(op, BinaryFn::kDiv);
    case MilOp::kMaximum:
      return binary(op, BinaryFn::kMax);
    case MilOp::kMinimum:
      return binary(op, BinaryFn::kMin);
    case MilOp::kPow:
      return binary(op, BinaryFn::kPow);
    case MilOp::kRsqrt:
      return unary(op, UnaryFn::kRsqrt, number("epsilon"), 0);
    case MilOp::kLog:
      return unary(op, UnaryFn::kLog, number("epsilon"), 0);
    case MilOp::kInverse:
      return unary(op, UnaryFn::kInverse, number("epsilon"), 0);
    case MilOp::kClip:
      return unary(op, UnaryFn::kClip, number("alpha"), number("beta"));
    case MilOp::kLeakyRelu:
      return unary(op, UnaryFn::kLeakyRelu, number("alpha"), 0);
    case MilOp::kElu:
      return unary(op, UnaryFn::kElu, number("alpha"), 0);
    case MilOp::kLinearActivation:
      return unary(op, UnaryFn::kLinear, number("alpha"), number("beta"));
    case MilOp::kSigmoidHard:
      return unary(op, UnaryFn::kSigmoidHard, number("alpha"), number("beta"));
    case MilOp::kClampedRelu:
      return unary(op, UnaryFn::kClampedRelu, number("alpha"), number("beta"));
    case MilOp::kGelu: {
      const std::string& mode = op.call.at("mode").text;
      return unary(op,
                   mode == "EXACT"  ? UnaryFn::kGeluExact
                   : mode[0] == 'T' ? UnaryFn::kGeluTanh
                                    : UnaryFn::kGeluSigmoid,
                   0, 0);
    }
    case MilOp::kSoftmax: {
      const int64_t axis = op.call.integer("axis");
      return along_axes(op, StepKind::kSoftmax, 0, {&axis, 1});
    }
    case MilOp::kLayerNorm:
      return along_axes(op, StepKind::kLayerNorm, 0, op.call.at("axes").ints);
    case MilOp::kReduceSum:
    case MilOp::kReduceMean:
    case MilOp::kReduceMax:
    case MilOp::kReduceMin:
      return along_axes(op, StepKind::kReduce,
                        static_cast<uint8_t>(static_cast<int>(kind) - static_cast<int>(MilOp::kReduceSum)),
                        op.call.at("axes").ints);
    case MilOp::kReshape:
    case MilOp::kExpandDims:
    case MilOp::kSqueeze:
    case MilOp::kIdentity:
      alias(op.operand("x"), 0, op.results[0]);
      return {};
    case MilOp::kTranspose:
      return transpose(op);
    case MilOp::kConcat:
      return concat(op);
    case MilOp::kSplit:
      return split(op);
    case MilOp::kSliceBySize:
    case MilOp::kSliceByIndex:
      return slice(op);
    case MilOp::kCast: {
      const bool from_wide = graph_.values[op.operand("x")].dtype == Dtype::kF32;
      const bool to_wide = graph_.values[op.results[0]].dtype == Dtype::kF32;
      if (from_wide == to_wide) {
        alias(op.operand("x"), 0, op.results[0]);
        return {};
      }
      ANELANE_TRY(unary(op, UnaryFn::kAbs, 0, 0));
      plan_.steps.back().kind = from_wide ? StepKind::kToHalf : StepKind::kToFloat;
      return {};
    }
    default: {  // abs … atan: the same order in both lists
      const int index = static_cast<int>(kind) - static_cast<int>(MilOp::kAbs);
      return unary(op, static_cast<UnaryFn>(index), 0, 0);
    }
  }
}

static_assert(static_cast<int>(MilOp::kAtan) - static_cast<int>(MilOp::kAbs) ==
              static_cast<int>(UnaryFn::kAtan));
static_assert(static_cast<int>(MilOp::kReduceMin) - static_cast<int>(MilOp::kReduceSum) ==
              static_cast<int>(ReduceFn::kMin));

Result<Plan> Lowering::run() {
  for (const uint32_t value : graph_.inputs) make(value);
  for (const GraphOp& one : graph_.ops) {
    Status status = op(one);
    if (!status.ok())
      return error(Code::kCompileFailed,
                   "CompilationFailure: " + place_text(one.place) + ": " + status.message());
    if (plan_.weights.size() > limits::kMaxPlanWeights)
      return error(Code::kCompileFailed, "CompilationFailure: the weights exceed " +
                                             std::to_string(limits::kMaxPlanWeights) + " bytes")
          .with_limit(limits::kMaxPlanWeights);
  }
  // Outputs stay alive behind the last step; one that is a constant after all moves into the arena.
  std::vector<View> outputs;
  for (const uint32_t value : graph_.outputs) {
    if (places_[value].constant) {
      GraphOp unused(op_info(MilOp::kIdentity));
      Step step;
      step.kind = StepKind::kCopy;
      step.a = use(places_[value]);
      step.out = make(value);
      const std::vector<int64_t> dense = repeat_strides(shape(value), shape(value));
      step.nest = make_nest(shape(value), dense, std::vector<int64_t>(dense.size(), 0), dense);
      push(step);
    }
  }
  for (const uint32_t value : graph_.outputs) outputs.push_back(use(places_[value]));

  plan_.arena_bytes = place_buffers(&buffers_);
  if (plan_.arena_bytes > limits::kMaxArenaBytes)
    return error(Code::kCompileFailed, "CompilationFailure: the intermediates need " +
                                           std::to_string(plan_.arena_bytes) + " bytes, at most " +
                                           std::to_string(limits::kMaxArenaBytes) + " are accepted")
        .with_limit(limits::kMaxArenaBytes);
  const auto resolve = [&](View* view) {
    if (view->space == Space::kArena && !buffers_.empty())
      view->offset = buffers_[view->offset >> 40].offset + (view->offset & ((uint64_t{1} << 40) - 1));
  };
  for (Step& step : plan_.steps)
    for (View* view : {&step.a, &step.b, &step.c, &step.d, &step.out}) resolve(view);
  for (const uint32_t value : graph_.inputs)
    plan_.inputs.push_back({graph_.values[value].name, graph_.values[value].dtype, shape(value),
                            buffers_[places_[value].buffer].offset});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphValue& value = graph_.values[graph_.outputs[i]];
    resolve(&outputs[i]);
    plan_.outputs.push_back({value.name, value.dtype, value.shape, outputs[i].offset});
  }
  return std::move(plan_);
}

}  // namespace

Result<Plan> lower(const Graph& graph) {
  return Lowering(graph).run();
}

}  // namespace anelane::soft
