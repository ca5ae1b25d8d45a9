// Shapes of results, operation by operation (the second half of mil_ops.h). Pure functions of the operand
// shapes and the constant parameters. Whoever builds or checks a program asks here, so that a program that
// the writer accepts is one that the checker accepts.
#include <algorithm>
#include <numeric>

#include "ane_direct/mil_ops.h"
#include "base/limits.h"

namespace anelane {
namespace {

Status bad(const std::string& text) {
  return error(Code::kCompileFailed, text);
}

std::string number(uint64_t n) {
  return std::to_string(n);
}

Result<Shape> linear_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  const Shape& w = call.shape("weight");
  if (x.empty() || x.size() >= limits::kMaxRank)
    return bad("x has rank " + number(x.size()) + ", 1 to 4 is accepted");
  if (w.size() != 2) return bad("weight is " + shape_text(w) + ", [outputs, inputs] is needed");
  if (!call.at("weight").constant) return bad("weight must be a constant");
  if (x.back() != w[1])
    return bad("x ends in " + number(x.back()) + ", weight takes " + number(w[1]) + " inputs");
  if (call.at("bias").given && call.shape("bias") != Shape{w[0]})
    return bad("bias is " + shape_text(call.shape("bias")) + ", [" + number(w[0]) + "] is needed");
  Shape out = x;
  out.back() = w[0];
  return out;
}

Result<Shape> matmul_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  const Shape& y = call.shape("y");
  if (x.size() < 2 || y.size() < 2 || x.size() > 4 || y.size() > 4)
    return bad("operands have ranks " + number(x.size()) + " and " + number(y.size()) +
               ", 2 to 4 is accepted");
  const bool tx = call.at("transpose_x").given && call.integer("transpose_x") != 0;
  const bool ty = call.at("transpose_y").given && call.integer("transpose_y") != 0;
  const uint64_t m = tx ? x[x.size() - 1] : x[x.size() - 2];
  const uint64_t kx = tx ? x[x.size() - 2] : x[x.size() - 1];
  const uint64_t ky = ty ? y[y.size() - 1] : y[y.size() - 2];
  const uint64_t n = ty ? y[y.size() - 2] : y[y.size() - 1];
  if (kx != ky)
    return bad("x " + shape_text(x) + " sums over " + number(kx) + ", y " + shape_text(y) + " over " +
               number(ky));
  ANELANE_ASSIGN(Shape out, broadcast(Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2)));
  out.push_back(m);
  out.push_back(n);
  return out;
}

Result<Shape> reduce_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  ANELANE_ASSIGN(const std::vector<size_t> axes, resolve_axes(call.at("axes").ints, x.size()));
  if (axes.empty()) return bad("axes is empty");
  const bool keep = call.at("keep_dims").given && call.integer("keep_dims") != 0;
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) out.push_back(x[i]);
    if (reduced && keep) out.push_back(1);
  }
  return out;
}

Result<Shape> reshape_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  Shape out;
  int64_t open = -1;
  uint64_t known = 1;
  if (call.at("shape").ints.size() > limits::kMaxRank) return bad("shape has more than 5 axes");
  for (const int64_t axis : call.at("shape").ints) {
    if (axis == -1 && open < 0) {
      open = static_cast<int64_t>(out.size());
      out.push_back(1);
      continue;
    }
    if (axis <= 0 || axis > limits::kMaxAxis) return bad("shape holds " + std::to_string(axis));
    out.push_back(static_cast<uint64_t>(axis));
    if (known > limits::kMaxTensorElements) return bad("shape has too many elements");
    known *= static_cast<uint64_t>(axis);
  }
  const uint64_t total = element_count(x);
  if (open >= 0 && total % known == 0) out[static_cast<size_t>(open)] = total / known;
  if (element_count(out) != total)
    return bad("x " + shape_text(x) + " has " + number(total) + " elements, shape " + shape_text(out) +
               " has " + number(element_count(out)));
  return out;
}

Result<Shape> transpose_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  const std::vector<int64_t>& perm = call.at("perm").ints;
  if (perm.size() != x.size())
    return bad("perm has " + number(perm.size()) + " entries, x has rank " + number(x.size()));
  Shape out;
  for (const int64_t axis : perm) {
    ANELANE_ASSIGN(const size_t from, resolve_axis(axis, x.size()));
    out.push_back(x[from]);
  }
  ANELANE_TRY(resolve_axes(perm, x.size()).status());
  return out;
}

Result<Shape> expand_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  const size_t rank = x.size() + call.at("axes").ints.size();
  if (rank > limits::kMaxRank) return bad("the result has rank " + number(rank));
  ANELANE_ASSIGN(const std::vector<size_t> axes, resolve_axes(call.at("axes").ints, rank));
  Shape out = x;
  for (const size_t axis : axes) out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return out;
}

Result<Shape> squeeze_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  Shape out;
  std::vector<size_t> axes;
  if (call.at("axes").given) {
    ANELANE_ASSIGN(axes, resolve_axes(call.at("axes").ints, x.size()));
  } else {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i] == 1) axes.push_back(i);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      out.push_back(x[i]);
    } else if (x[i] != 1) {
      return bad("axis " + number(i) + " of x " + shape_text(x) + " is not 1");
    }
  }
  return out;
}

Result<Shape> concat_shape(const OpCall& call) {
  const std::vector<Shape>& values = call.at("values").shapes;
  if (values.size() < 2) return bad("values must name at least 2 tensors");
  if (call.integer("interleave") != 0) return bad("interleave = true is not supported");
  ANELANE_ASSIGN(const size_t axis, resolve_axis(call.integer("axis"), values[0].size()));
  Shape out = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    Shape other = values[i];
    if (other.size() != out.size())
      return bad("values have ranks " + number(out.size()) + " and " + number(other.size()));
    out[axis] += other[axis];
    other[axis] = out[axis];
    if (other != out)
      return bad("values[" + number(i) + "] is " + shape_text(values[i]) + ", values[0] is " +
                 shape_text(values[0]) + ": they may differ on axis " + number(axis) + " only");
  }
  return out;
}

Result<std::vector<Shape>> split_shapes(const OpCall& call) {
  const Shape& x = call.shape("x");
  ANELANE_ASSIGN(const size_t axis, resolve_axis(call.integer("axis"), x.size()));
  std::vector<int64_t> sizes = call.at("split_sizes").ints;
  if (!call.at("split_sizes").given) {
    if (!call.at("num_splits").given) return bad("split_sizes or num_splits is needed");
    const int64_t n = call.integer("num_splits");
    if (n <= 0 || x[axis] % static_cast<uint64_t>(n) != 0)
      return bad("axis of " + number(x[axis]) + " does not split in " + std::to_string(n));
    sizes.assign(static_cast<size_t>(n), static_cast<int64_t>(x[axis]) / n);
  }
  std::vector<Shape> out;
  uint64_t total = 0;
  for (const int64_t size : sizes) {
    if (size <= 0 || static_cast<uint64_t>(size) > x[axis])
      return bad("split_sizes holds " + std::to_string(size));
    total += static_cast<uint64_t>(size);
    out.push_back(x);
    out.back()[axis] = static_cast<uint64_t>(size);
  }
  if (total != x[axis])
    return bad("split_sizes add up to " + number(total) + ", the axis has " + number(x[axis]));
  return out;
}

Result<Shape> slice_by_size_shape(const OpCall& call) {
  ANELANE_ASSIGN(const std::vector<SliceRange> ranges, resolve_slice(call));
  Shape out;
  for (const SliceRange& range : ranges) out.push_back(range.count);
  return out;
}

Result<Shape> slice_by_index_shape(const OpCall& call) {
  ANELANE_ASSIGN(const std::vector<SliceRange> ranges, resolve_slice(call));
  const OpArg& squeeze = call.at("squeeze_mask");
  Shape out;
  for (size_t i = 0; i < ranges.size(); ++i)
    if (!squeeze.given || squeeze.ints[i] == 0) out.push_back(ranges[i].count);
  return out;
}

Result<Shape> layer_norm_shape(const OpCall& call) {
  const Shape& x = call.shape("x");
  ANELANE_ASSIGN(const std::vector<size_t> axes, resolve_axes(call.at("axes").ints, x.size()));
  if (axes.empty()) return bad("axes is empty");
  Shape wanted;
  for (const size_t axis : axes) wanted.push_back(x[axis]);
  for (const char* name : {"gamma", "beta"}) {
    if (!call.at(name).given) continue;
    if (!call.at(name).constant) return bad(std::string(name) + " must be a constant");
    if (call.shape(name) != wanted)
      return bad(std::string(name) + " is " + shape_text(call.shape(name)) + ", " + shape_text(wanted) +
                 " is needed");
  }
  return x;
}

Result<Shape> conv_shape(const OpCall& call) {
  ANELANE_ASSIGN(const ConvGeometry geometry, resolve_conv(call));
  return Shape{call.shape("x")[0], call.shape("weight")[0], geometry.out[0], geometry.out[1]};
}

Result<Shape> gelu_shape(const OpCall& call) {
  const std::string& mode = call.at("mode").text;
  if (mode != "EXACT" && mode != "TANH_APPROXIMATION" && mode != "SIGMOID_APPROXIMATION")
    return bad("mode is \"" + mode + "\", EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION is needed");
  return call.shape("x");
}

Result<Shape> cast_shape(const OpCall& call) {
  const std::string& dtype = call.at("dtype").text;
  if (dtype != "fp16" && dtype != "fp32") return bad("dtype is \"" + dtype + "\", fp16 or fp32 is needed");
  return call.shape("x");
}

Result<Shape> softmax_shape(const OpCall& call) {
  ANELANE_TRY(resolve_axis(call.integer("axis"), call.shape("x").size()).status());
  return call.shape("x");
}

Result<Shape> single_shape(const OpCall& call) {
  switch (call.info->op) {
    case MilOp::kConv:
      return conv_shape(call);
    case MilOp::kLinear:
      return linear_shape(call);
    case MilOp::kMatmul:
      return matmul_shape(call);
    case MilOp::kAdd:
    case MilOp::kSub:
    case MilOp::kMul:
    case MilOp::kRealDiv:
    case MilOp::kMaximum:
    case MilOp::kMinimum:
    case MilOp::kPow:
      return broadcast(call.shape("x"), call.shape("y"));
    case MilOp::kGelu:
      return gelu_shape(call);
    case MilOp::kCast:
      return cast_shape(call);
    case MilOp::kSoftmax:
      return softmax_shape(call);
    case MilOp::kLayerNorm:
      return layer_norm_shape(call);
    case MilOp::kReduceSum:
    case MilOp::kReduceMean:
    case MilOp::kReduceMax:
    case MilOp::kReduceMin:
      return reduce_shape(call);
    case MilOp::kReshape:
      return reshape_shape(call);
    case MilOp::kTranspose:
      return transpose_shape(call);
    case MilOp::kExpandDims:
      return expand_shape(call);
    case MilOp::kSqueeze:
      return squeeze_shape(call);
    case MilOp::kConcat:
      return concat_shape(call);
    case MilOp::kSliceBySize:
      return slice_by_size_shape(call);
    case MilOp::kSliceByIndex:
      return slice_by_index_shape(call);
    default:
      return call.shape("x");  // elementwise on one operand
  }
}

}  // namespace

Result<size_t> resolve_axis(int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    return bad("axis " + std::to_string(axis) + " does not exist in a tensor of rank " + number(rank));
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

Result<std::vector<size_t>> resolve_axes(std::span<const int64_t> axes, size_t rank) {
  std::vector<size_t> out;
  for (const int64_t axis : axes) {
    ANELANE_ASSIGN(const size_t resolved, resolve_axis(axis, rank));
    if (std::find(out.begin(), out.end(), resolved) != out.end())
      return bad("axis " + number(resolved) + " is named twice");
    out.push_back(resolved);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<Shape>> infer_shapes(const OpCall& call) {
  std::vector<Shape> shapes;
  if (call.info->op == MilOp::kSplit) {
    ANELANE_ASSIGN(shapes, split_shapes(call));
  } else {
    ANELANE_ASSIGN(Shape shape, single_shape(call));
    shapes.push_back(std::move(shape));
  }
  for (const Shape& shape : shapes) ANELANE_TRY(check_shape(shape, limits::kMaxAxis));
  return shapes;
}

}  // namespace anelane
