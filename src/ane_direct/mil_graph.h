// The inside of a writer: the nodes of a program under construction, and one call of an operation. For
// mil_writer.cc and mil_graph.cc only.
#pragma once
#include <map>
#include <utility>

#include "ane_direct/mil_text.h"
#include "ane_direct/mil_writer.h"
#include "ane_direct/weight_blob.h"

namespace anelane {

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

}  // namespace anelane
