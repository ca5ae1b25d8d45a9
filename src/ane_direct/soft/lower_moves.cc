// Operations that move data. What is one contiguous run of its operand shares the operand's buffer and costs
// nothing; the rest are strided copies. A slice that begins inside the last axis is marked, because the first
// generations of the engine put it through fixed point (numerics N46), and so is never shared.
#include <algorithm>

#include "ane_direct/soft/lowering.h"

namespace anelane::soft {

void Lowering::alias(uint32_t from, uint64_t byte_offset, uint32_t to) {
  const GraphValue& v = graph_.values[from];
  places_[to] = v.constant != kNoIndex ? constant(v.constant) : places_[from];
  places_[to].offset += byte_offset;
}

// A strided walk over `from` (element `first` is the first) into the dense result `to`.
Status Lowering::copy(uint32_t from, const Strides& strides, int64_t first, uint32_t to, uint8_t flags) {
  const Shape& out = shape(to);
  Step step;
  step.kind = StepKind::kCopy;
  step.flags = flags;
  step.a = use(from);
  step.a.offset += static_cast<uint64_t>(first) * 2;
  step.out = make(to);
  step.nest = make_nest(out, strides, Strides(out.size(), 0), repeat_strides(out, out));
  push(step);
  return {};
}

Status Lowering::slice(const GraphOp& op) {
  ANELANE_ASSIGN(const std::vector<SliceRange> ranges, resolve_slice(op.call));
  const Shape& x = shape(op.operand("x"));
  const Strides dense = dense_strides(x);
  const OpArg* squeeze = op.call.info->op == MilOp::kSliceByIndex ? &op.call.at("squeeze_mask") : nullptr;
  int64_t first = 0;
  Strides strides;
  bool one_run = true;  // contiguous: leading axes of one element, one cut axis, whole axes behind it
  bool partial = false;
  for (size_t i = 0; i < x.size(); ++i) {
    first += ranges[i].begin * dense[i];
    if (squeeze == nullptr || !squeeze->given || squeeze->ints[i] == 0)
      strides.push_back(ranges[i].count == 1 ? 0 : ranges[i].step * dense[i]);
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
  const Strides dense = dense_strides(x);
  const bool one_run = std::all_of(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis),
                                   [](uint64_t n) { return n == 1; });
  uint64_t begin = 0;
  for (const uint32_t result : op.results) {
    const uint64_t first = begin * static_cast<uint64_t>(dense[axis]);
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
  const Strides to = dense_strides(out);
  const View whole = make(op.results[0]);
  uint64_t begin = 0;
  for (const uint32_t value : op.operands[static_cast<size_t>(op.call.info->param("values"))]) {
    const Shape& part = shape(value);
    Step step;
    step.kind = StepKind::kCopy;
    step.a = use(value);
    step.out = whole;
    step.out.offset += begin * static_cast<uint64_t>(to[axis]) * 2;
    use(op.results[0]);
    step.nest = make_nest(part, repeat_strides(part, part), Strides(part.size(), 0), to);
    push(step);
    begin += part[axis];
  }
  return {};
}

Status Lowering::transpose(const GraphOp& op) {
  const Shape& x = shape(op.operand("x"));
  const Strides dense = dense_strides(x);
  Strides strides;
  for (const int64_t axis : op.call.at("perm").ints) {
    ANELANE_ASSIGN(const size_t from, resolve_axis(axis, x.size()));
    strides.push_back(dense[from]);
  }
  // Only axes of 1 move: the bytes stay.
  Strides moving;
  for (size_t i = 0; i < strides.size(); ++i)
    if (shape(op.results[0])[i] != 1) moving.push_back(strides[i]);
  if (std::is_sorted(moving.rbegin(), moving.rend())) {
    alias(op.operand("x"), 0, op.results[0]);
    return {};
  }
  return copy(op.operand("x"), strides, 0, op.results[0], 0);
}

Status Lowering::cast(const GraphOp& op) {
  const bool from_wide = graph_.values[op.operand("x")].dtype == Dtype::kF32;
  const bool to_wide = graph_.values[op.results[0]].dtype == Dtype::kF32;
  if (from_wide == to_wide) {
    alias(op.operand("x"), 0, op.results[0]);
    return {};
  }
  Step step;
  step.kind = from_wide ? StepKind::kToHalf : StepKind::kToFloat;
  step.a = use(op.operand("x"));
  step.out = make(op.results[0]);
  step.dims[0] = element_count(shape(op.results[0]));
  push(step);
  return {};
}

Status Lowering::move(const GraphOp& op) {
  switch (op.call.info->op) {
    case MilOp::kTranspose:
      return transpose(op);
    case MilOp::kConcat:
      return concat(op);
    case MilOp::kSplit:
      return split(op);
    case MilOp::kSliceBySize:
    case MilOp::kSliceByIndex:
      return slice(op);
    case MilOp::kCast:
      return cast(op);
    default:
      alias(op.operand("x"), 0, op.results[0]);
      return {};  // reshape, expand_dims, squeeze, identity
  }
}

}  // namespace anelane::soft
