// A program under construction is an ordered list of nodes: inputs, constants, operations. Text is made once,
// in finish(), from that list in its own order, so a value that becomes an output can still take its name.
// Constants are written where they are first used; equal small constants share one node (found by their
// exact text), weights never do: their order is the order of the records in the weight file.
//
// Invariants: a node refers to earlier nodes only; every node has a checked shape; after an error the list
// does not grow any more. Threads: a writer belongs to one thread.
#include "ane_direct/mil_graph.h"

#include <algorithm>

namespace anelane {
namespace {

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

}  // namespace anelane
