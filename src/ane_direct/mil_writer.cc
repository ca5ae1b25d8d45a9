// A program under construction is an ordered list of nodes: inputs, constants, operations. Text is made once,
// in finish(), from that list in its own order, so a value that becomes an output can still take its name.
// Constants are written where they are first used; equal small constants share one node (found by their
// exact text), weights never do: their order is the order of the records in the weight file.
//
// Invariants: a node refers to earlier nodes only; every node has a checked shape; after an error the list
// does not grow any more. Threads: a writer belongs to one thread.
#include "ane_direct/mil_writer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ane_direct/mil_text.h"
#include "ane_direct/weight_blob.h"
#include "base/limits.h"

namespace anelane {
namespace {

enum class NodeKind : uint8_t { kInput, kConst, kOp, kExtraResult };

struct Argument {
  std::string_view name;  // of the parameter table: lives for ever
  std::vector<uint32_t> nodes;
};

struct Node {
  NodeKind kind = NodeKind::kInput;
  Shape shape;
  std::string name;          // inputs and outputs; "" = by position
  std::string type;          // constants: the type's text
  std::string literal;       // constants: the value's text
  MilOp op = MilOp::kCount;  // operations
  std::vector<Argument> arguments;
  uint32_t results = 1;  // operations: this node and the kExtraResult nodes right behind it
  bool is_output = false;
};

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// c0, t17: taken by the names that we give.
bool is_reserved(std::string_view name) {
  return name.size() >= 2 && (name[0] == 'c' || name[0] == 't') &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

struct MilWriter::State {
  explicit State(MilDialect dialect) : text(dialect) {}

  MilText text;
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::map<std::string, uint32_t> constants;  // type and literal → node
  WeightBlobWriter blob;
  uint32_t op_count = 0;
  Status first_error;

  void fail(Status status) {
    if (first_error.ok()) first_error = std::move(status).in("MIL program");
  }
  Value append(Node node) {
    nodes.push_back(std::move(node));
    return {static_cast<uint32_t>(nodes.size() - 1)};
  }
  Value constant(std::string type, std::string literal, Shape shape) {
    const auto [found, fresh] =
        constants.try_emplace(type + "=" + literal, static_cast<uint32_t>(nodes.size()));
    if (!fresh) return {found->second};
    Node node;
    node.kind = NodeKind::kConst;
    node.type = std::move(type);
    node.literal = std::move(literal);
    node.shape = std::move(shape);
    return append(std::move(node));
  }
  bool check_name(std::string_view name);
  std::string render();
  std::string render_op(const Node& node, uint32_t index, const std::vector<std::string>& names) const;
};

// One call of an operation: arguments are given by name in any order and written in the table's order.
class MilWriter::Call {
 public:
  Call(State& state, MilOp op) : state_(state), call_(op_info(op)), usable_(state.first_error.ok()) {}

  Call& tensor(std::string_view param, Value value) { return tensors(param, {&value, 1}); }
  Call& tensor(std::string_view param, const std::optional<Value>& value) {
    return value ? tensor(param, *value) : *this;
  }
  Call& tensors(std::string_view param, std::span<const Value> values) {
    OpArg& arg = give(param);
    for (const Value value : values) {
      if (!usable_) return *this;
      if (value.index >= state_.nodes.size()) {
        usable_ = false;
        state_.fail(error(Code::kCompileFailed,
                          where() + ": " + std::string(param) + " is no value of this program"));
        return *this;
      }
      const Node& node = state_.nodes[value.index];
      arg.shapes.push_back(node.shape);
      arg.constant = node.kind == NodeKind::kConst;
      nodes(param).push_back(value.index);
    }
    return *this;
  }
  Call& integer(std::string_view param, int64_t value) {
    give(param).ints = {value};
    return literal(param, "int32", std::to_string(value));
  }
  Call& integers(std::string_view param, const Ints& values) {
    give(param).ints = values;
    if (usable_)
      nodes(param) = {
          state_.constant(state_.text.type("int32", {values.size()}), state_.text.ints(values), {}).index};
    return *this;
  }
  Call& flag(std::string_view param, bool value) {
    give(param).ints = {value ? 1 : 0};
    return literal(param, "bool", value ? "true" : "false");
  }
  Call& text(std::string_view param, std::string_view value) {
    give(param).text = value;
    return literal(param, "string", "\"" + std::string(value) + "\"");
  }
  Call& number(std::string_view param, Value scalar, float value) {
    give(param).number = value;
    if (usable_) nodes(param) = {scalar.index};
    return *this;
  }
  Value one() { return all(1).front(); }
  std::vector<Value> all(size_t wanted);

 private:
  OpArg& give(std::string_view param) {
    OpArg& arg = call_.at(param);
    arg.given = true;
    return arg;
  }
  std::vector<uint32_t>& nodes(std::string_view param) {
    return nodes_[static_cast<size_t>(call_.info->param(param))];
  }
  Call& literal(std::string_view param, std::string_view element, std::string_view value) {
    if (usable_)
      nodes(param) = {
          state_.constant(state_.text.type(element, {}), state_.text.scalar(element, value), {}).index};
    return *this;
  }
  std::string where() const {
    return "operation " + std::to_string(state_.op_count) + " (" + call_.info->name + ")";
  }

  State& state_;
  OpCall call_;
  std::array<std::vector<uint32_t>, kMaxParams> nodes_;
  bool usable_;
};

// The results' nodes; `wanted` invalid values after an error.
std::vector<MilValue> MilWriter::Call::all(size_t wanted) {
  std::vector<Value> values(wanted);
  if (!usable_ || !state_.first_error.ok()) return values;
  Result<std::vector<Shape>> shapes = infer_shapes(call_);
  if (!shapes.ok()) {
    state_.fail(std::move(shapes).status().in(where()));
    return values;
  }
  Node node;
  node.kind = NodeKind::kOp;
  node.op = call_.info->op;
  node.results = static_cast<uint32_t>(shapes->size());
  for (size_t i = 0; i < kMaxParams; ++i)
    if (!nodes_[i].empty()) node.arguments.push_back({call_.info->params[i].name, std::move(nodes_[i])});
  ++state_.op_count;
  values.clear();
  for (Shape& shape : *shapes) {
    node.shape = std::move(shape);
    values.push_back(state_.append(std::move(node)));
    node = {};
    node.kind = NodeKind::kExtraResult;
  }
  return values;
}

bool MilWriter::State::check_name(std::string_view name) {
  const std::string shown(name);
  if (!is_identifier(name)) {
    fail(error(Code::kCompileFailed, "\"" + shown + "\" is not a name: letters, digits and _ are accepted"));
  } else if (is_reserved(name)) {
    fail(error(Code::kCompileFailed, "\"" + shown + "\" is a name that the writer gives itself"));
  } else if (std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return node.name == name; })) {
    fail(error(Code::kCompileFailed, "the name \"" + shown + "\" is used twice"));
  } else {
    return true;
  }
  return false;
}

std::string MilWriter::State::render_op(const Node& node, uint32_t index,
                                        const std::vector<std::string>& names) const {
  std::string line = "        ";
  for (uint32_t i = index; i < index + node.results; ++i) {
    if (i != index) line += ", ";
    line += text.type("fp16", nodes[i].shape) + " " + names[i];
  }
  line += std::string(" = ") + op_info(node.op).name + "(";
  bool first = true;
  for (const Argument& argument : node.arguments) {
    if (!std::exchange(first, false)) line += ", ";
    line += std::string(argument.name) + " = ";
    const bool tuple = argument.name == "values";
    if (tuple) line += "(";
    for (size_t i = 0; i < argument.nodes.size(); ++i)
      line += (i != 0 ? ", " : "") + names[argument.nodes[i]];
    if (tuple) line += ")";
  }
  return line + ")[name = " + text.quoted(names[index]) + "];\n";
}

std::string MilWriter::State::render() {
  std::vector<std::string> names(nodes.size());
  uint32_t constant_count = 0;
  uint32_t result_count = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string automatic = nodes[i].kind == NodeKind::kConst ? "c" + std::to_string(constant_count++)
                                                                    : "t" + std::to_string(result_count++);
    names[i] = nodes[i].name.empty() ? automatic : nodes[i].name;
  }
  const auto by_name = [&](uint32_t a, uint32_t b) { return names[a] < names[b]; };
  std::sort(inputs.begin(), inputs.end(), by_name);
  std::sort(outputs.begin(), outputs.end(), by_name);
  std::string out = text.header();
  for (size_t i = 0; i < inputs.size(); ++i)
    out += (i != 0 ? ", " : "") + text.type("fp16", nodes[inputs[i]].shape) + " " + names[inputs[i]];
  out += ") {\n";
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == NodeKind::kConst)
      out += "        " + nodes[i].type + " " + names[i] + " = const()[name = " + text.quoted(names[i]) +
             ", val = " + nodes[i].literal + "];\n";
    if (nodes[i].kind == NodeKind::kOp) out += render_op(nodes[i], i, names);
  }
  out += "    } -> (";
  for (size_t i = 0; i < outputs.size(); ++i) out += (i != 0 ? ", " : "") + names[outputs[i]];
  return out + ");\n}\n";
}

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
