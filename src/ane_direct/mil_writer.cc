// The calls of the writer, each in terms of one node or one operation of mil_graph.h.
#include "ane_direct/mil_writer.h"

#include <algorithm>

#include "ane_direct/mil_graph.h"
#include "base/limits.h"

namespace anelane {

MilWriter::MilWriter(MilDialect dialect) : state_(std::make_unique<State>(dialect)) {}
MilWriter::~MilWriter() = default;
MilWriter::MilWriter(MilWriter&&) noexcept = default;
MilWriter& MilWriter::operator=(MilWriter&&) noexcept = default;

Status MilWriter::status() const {
  return state_->first_error;
}

const Shape& MilWriter::shape(Value value) const {
  static const Shape kNoShape;
  return value.index < state_->nodes.size() ? state_->nodes[value.index].shape : kNoShape;
}

MilValue MilWriter::input(std::string_view name, const Shape& shape) {
  if (!state_->first_error.ok() || !state_->check_name(name)) return {};
  if (Status status = check_shape(shape, limits::kMaxAxis); !status.ok()) {
    state_->fail(std::move(status).in("input " + std::string(name)));
    return {};
  }
  Node node;
  node.name = name;
  node.shape = shape;
  const Value value = state_->append(std::move(node));
  state_->inputs.push_back(value.index);
  return value;
}

void MilWriter::output(std::string_view name, Value value) {
  if (!state_->first_error.ok() || !state_->check_name(name)) return;
  if (!value.valid() || value.index >= state_->nodes.size()) {
    state_->fail(error(Code::kCompileFailed, "output " + std::string(name) + " is no value of this program"));
    return;
  }
  const Node& made = state_->nodes[value.index];
  // The compiler wants every output to be the result of an operation, under one name.
  if (made.kind == NodeKind::kInput || made.kind == NodeKind::kConst || made.is_output)
    value = identity(value);
  if (!value.valid()) return;
  Node& node = state_->nodes[value.index];
  node.name = name;
  node.is_output = true;
  state_->outputs.push_back(value.index);
}

MilValue MilWriter::scalar(float value) {
  if (!state_->first_error.ok()) return {};
  const Half half = float_to_half(value);
  if ((half & 0x7c00u) == 0x7c00u) {
    state_->fail(
        error(Code::kCompileFailed, "scalar constant " + std::to_string(value) + " is not finite as fp16"));
    return {};
  }
  return state_->constant(state_->text.type("fp16", {}), state_->text.scalar("fp16", hex_float(half)), {});
}

MilValue MilWriter::weight(const Shape& shape, std::span<const Half> values) {
  if (!state_->first_error.ok()) return {};
  Status status = check_shape(shape, limits::kMaxConvChannels);
  if (status.ok() && element_count(shape) != values.size())
    status = error(Code::kCompileFailed, "shape " + shape_text(shape) + " has " +
                                             std::to_string(element_count(shape)) + " elements, " +
                                             std::to_string(values.size()) + " were given");
  for (size_t i = 0; status.ok() && i < values.size(); ++i)
    if ((values[i] & 0x7c00u) == 0x7c00u)
      status = error(Code::kCompileFailed,
                     "element " + std::to_string(i) + " of " + shape_text(shape) + " is not finite as fp16");
  if (!status.ok()) {
    state_->fail(std::move(status).in("weight " + std::to_string(state_->blob.records())));
    return {};
  }
  Node node;
  node.kind = NodeKind::kConst;
  node.shape = shape;
  node.type = state_->text.type("fp16", shape);
  node.literal = state_->text.blob(shape, state_->blob.add(values));
  return state_->append(std::move(node));
}

MilValue MilWriter::weight(const Shape& shape, std::span<const float> values) {
  std::vector<Half> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), float_to_half);
  return weight(shape, halves);
}

MilValue MilWriter::conv(Value x, Value weight, const ConvOptions& options) {
  return Call(*state_, MilOp::kConv)
      .tensor("bias", options.bias)
      .integers("dilations", options.dilations)
      .integer("groups", options.groups)
      .integers("pad", options.pad)
      .text("pad_type", options.pad_type)
      .integers("strides", options.strides)
      .tensor("weight", weight)
      .tensor("x", x)
      .one();
}

MilValue MilWriter::conv(Value x, Value weight) {
  return conv(x, weight, ConvOptions{});
}

MilValue MilWriter::linear(Value x, Value weight, std::optional<Value> bias) {
  return Call(*state_, MilOp::kLinear).tensor("bias", bias).tensor("weight", weight).tensor("x", x).one();
}

MilValue MilWriter::matmul(Value x, Value y, bool transpose_x, bool transpose_y) {
  return Call(*state_, MilOp::kMatmul)
      .flag("transpose_x", transpose_x)
      .flag("transpose_y", transpose_y)
      .tensor("x", x)
      .tensor("y", y)
      .one();
}

MilValue MilWriter::binary(MilOp op, Value x, Value y) {
  return Call(*state_, op).tensor("x", x).tensor("y", y).one();
}

#define ANELANE_BINARY(method, op)               \
  MilValue MilWriter::method(Value x, Value y) { \
    return binary(op, x, y);                     \
  }                                              \
  MilValue MilWriter::method(Value x, float y) { \
    return binary(op, x, scalar(y));             \
  }
ANELANE_BINARY(add, MilOp::kAdd)
ANELANE_BINARY(sub, MilOp::kSub)
ANELANE_BINARY(mul, MilOp::kMul)
ANELANE_BINARY(real_div, MilOp::kRealDiv)
ANELANE_BINARY(maximum, MilOp::kMaximum)
ANELANE_BINARY(minimum, MilOp::kMinimum)
ANELANE_BINARY(pow, MilOp::kPow)
#undef ANELANE_BINARY

MilValue MilWriter::unary(MilOp op, Value x) {
  const OpInfo& info = op_info(op);
  if (info.params[0].kind != ParamKind::kTensor || info.params[1].name != nullptr) {
    state_->fail(error(Code::kCompileFailed, std::string(info.name) + " takes more than one tensor"));
    return {};
  }
  return Call(*state_, op).tensor("x", x).one();
}

MilValue MilWriter::rsqrt(Value x, float epsilon) {
  return Call(*state_, MilOp::kRsqrt).number("epsilon", scalar(epsilon), epsilon).tensor("x", x).one();
}

MilValue MilWriter::log(Value x, float epsilon) {
  return Call(*state_, MilOp::kLog).number("epsilon", scalar(epsilon), epsilon).tensor("x", x).one();
}

MilValue MilWriter::inverse(Value x, float epsilon) {
  return Call(*state_, MilOp::kInverse).number("epsilon", scalar(epsilon), epsilon).tensor("x", x).one();
}

MilValue MilWriter::gelu(Value x, std::string_view mode) {
  return Call(*state_, MilOp::kGelu).text("mode", mode).tensor("x", x).one();
}

MilValue MilWriter::clip(Value x, float low, float high) {
  return Call(*state_, MilOp::kClip)
      .number("alpha", scalar(low), low)
      .number("beta", scalar(high), high)
      .tensor("x", x)
      .one();
}

MilValue MilWriter::softmax(Value x, int64_t axis) {
  return Call(*state_, MilOp::kSoftmax).integer("axis", axis).tensor("x", x).one();
}

MilValue MilWriter::reduce(MilOp op, Value x, const Ints& axes, bool keep_dims) {
  return Call(*state_, op).integers("axes", axes).flag("keep_dims", keep_dims).tensor("x", x).one();
}
MilValue MilWriter::reduce_sum(Value x, const Ints& axes, bool keep) {
  return reduce(MilOp::kReduceSum, x, axes, keep);
}
MilValue MilWriter::reduce_mean(Value x, const Ints& axes, bool keep) {
  return reduce(MilOp::kReduceMean, x, axes, keep);
}
MilValue MilWriter::reduce_max(Value x, const Ints& axes, bool keep) {
  return reduce(MilOp::kReduceMax, x, axes, keep);
}
MilValue MilWriter::reduce_min(Value x, const Ints& axes, bool keep) {
  return reduce(MilOp::kReduceMin, x, axes, keep);
}

MilValue MilWriter::layer_norm(Value x, const Ints& axes, std::optional<Value> gamma,
                               std::optional<Value> beta, float epsilon) {
  return Call(*state_, MilOp::kLayerNorm)
      .integers("axes", axes)
      .tensor("beta", beta)
      .number("epsilon", scalar(epsilon), epsilon)
      .tensor("gamma", gamma)
      .tensor("x", x)
      .one();
}

MilValue MilWriter::reshape(Value x, const Ints& shape) {
  return Call(*state_, MilOp::kReshape).integers("shape", shape).tensor("x", x).one();
}

MilValue MilWriter::transpose(Value x, const Ints& perm) {
  return Call(*state_, MilOp::kTranspose).integers("perm", perm).tensor("x", x).one();
}

MilValue MilWriter::expand_dims(Value x, const Ints& axes) {
  return Call(*state_, MilOp::kExpandDims).integers("axes", axes).tensor("x", x).one();
}

MilValue MilWriter::squeeze(Value x, const Ints& axes) {
  return Call(*state_, MilOp::kSqueeze).integers("axes", axes).tensor("x", x).one();
}

MilValue MilWriter::slice_by_size(Value x, const Ints& begin, const Ints& size) {
  return Call(*state_, MilOp::kSliceBySize)
      .integers("begin", begin)
      .integers("size", size)
      .tensor("x", x)
      .one();
}

MilValue MilWriter::concat(std::span<const Value> values, int64_t axis) {
  if (values.size() == 1) return values[0];
  return Call(*state_, MilOp::kConcat)
      .integer("axis", axis)
      .flag("interleave", false)
      .tensors("values", values)
      .one();
}

MilValue MilWriter::concat(std::initializer_list<Value> values, int64_t axis) {
  return concat(std::span(values.begin(), values.size()), axis);
}

std::vector<MilValue> MilWriter::split(Value x, const Ints& sizes, int64_t axis) {
  return Call(*state_, MilOp::kSplit)
      .integer("axis", axis)
      .integers("split_sizes", sizes)
      .tensor("x", x)
      .all(sizes.size());
}

Result<Program> MilWriter::finish() && {
  if (state_->inputs.empty()) state_->fail(error(Code::kCompileFailed, "it has no input"));
  if (state_->outputs.empty()) state_->fail(error(Code::kCompileFailed, "it has no output"));
  if (!state_->first_error.ok()) return state_->first_error;
  Program program;
  program.mil = state_->render();
  program.weights = state_->blob.finish();
  return program;
}

}  // namespace anelane
