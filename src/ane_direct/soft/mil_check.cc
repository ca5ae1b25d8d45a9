// From names to indices, one function at a time. Refused with line, operation and reason: a name used twice
// or not known, an unknown operation or parameter, a missing parameter, a wrong element type, a declared
// shape that is not the inferred one, ranks above 5, axes above 16384, empty axes, runtime convolution
// weights, outputs that no operation made, weights outside the weight file.
//
// Two prefixes, as the daemon's compiler reports them: InvalidMILProgram for a program that is wrong as such,
// CompilationFailure for a sound one that the engine cannot run. Element types: tensors are fp16; fp32 exists
// at the border only (a parameter that `cast` reads, a result of `cast` that is returned), because the
// engine's datapath has no wider storage (numerics N1, N2); fp32 constants are rounded to fp16 (N3).
#include "ane_direct/soft/mil_check.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ane_direct/weight_blob.h"
#include "base/limits.h"

namespace anelane::soft {
namespace {

constexpr std::string_view kWeightPath = "@model_path/weights/weight.bin";

std::string quote(std::string_view text) {
  return "\"" + std::string(text.substr(0, 64)) + "\"";
}

Status unsupported(SourcePlace place, std::string_view what) {
  return error(Code::kCompileFailed, "CompilationFailure: " + place_text(place) + ": " + std::string(what));
}

// What a name stands for: a tensor (index), or a constant that only parameters use.
struct Symbol {
  uint32_t value = kNoIndex;
  const MilLiteral* literal = nullptr;
  bool from_op = false;
};

// The weight file with each record's constant made once, however often it is named.
class Weights {
 public:
  explicit Weights(const WeightBlobReader* blob) : blob_(blob) {}
  Result<uint32_t> constant(const MilLiteral& literal, Graph* graph);

 private:
  const WeightBlobReader* blob_;
  std::unordered_map<uint64_t, uint32_t> made_;
};

Result<uint32_t> Weights::constant(const MilLiteral& literal, Graph* graph) {
  if (literal.blob_path != kWeightPath)
    return invalid_program(literal.place, "BLOBFILE path is " + quote(literal.blob_path) + ", " +
                                              std::string(kWeightPath) + " is the only weight file");
  if (blob_ == nullptr) return invalid_program(literal.place, "BLOBFILE without a weight file");
  if (!(literal.blob_offset >= 0 && literal.blob_offset < 9e15) ||
      literal.blob_offset != std::floor(literal.blob_offset))
    return invalid_program(literal.place, "BLOBFILE offset is not a whole number");
  const uint64_t offset = static_cast<uint64_t>(literal.blob_offset);
  Result<BlobRecord> record = blob_->at(offset);
  if (!record.ok()) return invalid_program(literal.place, record.status().message());
  const bool half = literal.type.element == "fp16";
  if (record->type != (half ? BlobType::kF16 : BlobType::kF32))
    return invalid_program(literal.place, "the record at offset " + std::to_string(offset) +
                                              " is not of type " + std::string(literal.type.element));
  const size_t count = record->data.size() / (half ? 2 : 4);
  if (count != element_count(literal.type.shape))
    return invalid_program(literal.place, "the record at offset " + std::to_string(offset) + " has " +
                                              std::to_string(count) + " elements, " +
                                              shape_text(literal.type.shape) + " needs " +
                                              std::to_string(element_count(literal.type.shape)));
  const auto [found, fresh] = made_.try_emplace(offset, static_cast<uint32_t>(graph->constants.size()));
  if (!fresh) return found->second;
  GraphConstant made;
  if (half) {
    made.blob = record->data;
  } else {
    made.owned.resize(count);
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      for (size_t b = 0; b < 4; ++b) bits |= static_cast<uint32_t>(record->data[4 * i + b]) << (8 * b);
      made.owned[i] = float_to_half(std::bit_cast<float>(bits));
    }
  }
  graph->constants.push_back(std::move(made));
  return found->second;
}

class FunctionChecker {
 public:
  FunctionChecker(const MilFunction& source, const WeightBlobReader* blob)
      : source_(source), weights_(blob) {}
  Result<Graph> run();

 private:
  Status declare(std::string_view name, SourcePlace place, Symbol symbol);
  Status input(const MilBinding& binding);
  Status constant(const MilStatement& statement);
  Status operation(const MilStatement& statement);
  Status argument(const MilArgument& given, const Param& param, size_t slot, GraphOp* op);
  Status tensor(const MilArgument& given, std::string_view name, size_t slot, GraphOp* op);
  Status parameter(const MilArgument& given, const Param& param, const MilLiteral& literal, OpArg* arg);
  Status results(const MilStatement& statement, GraphOp* op);
  Status outputs();
  Result<uint32_t> literal_tensor(const MilLiteral& literal);

  const MilFunction& source_;
  Weights weights_;
  Graph graph_;
  std::unordered_map<std::string_view, Symbol> symbols_;
};

Status FunctionChecker::declare(std::string_view name, SourcePlace place, Symbol symbol) {
  if (!symbols_.try_emplace(name, symbol).second)
    return invalid_program(place, "the name " + quote(name) + " is used twice");
  return {};
}

Status FunctionChecker::input(const MilBinding& binding) {
  const std::string_view element = binding.type.element;
  if (element != "fp16" && element != "fp32")
    return unsupported(binding.place, "input " + quote(binding.name) + " is " + std::string(element) +
                                          ": dtype must be 'fp16', or 'fp32' with a cast");
  if (binding.type.shape.empty())
    return unsupported(binding.place, "input " + quote(binding.name) + " is a scalar");
  Status shape = check_shape(binding.type.shape, limits::kMaxAxis);
  if (!shape.ok()) return unsupported(binding.place, "input " + quote(binding.name) + ": " + shape.message());
  const uint32_t index = static_cast<uint32_t>(graph_.values.size());
  ANELANE_TRY(declare(binding.name, binding.place, {index, nullptr, false}));
  graph_.values.push_back(
      {std::string(binding.name), element == "fp16" ? Dtype::kF16 : Dtype::kF32, binding.type.shape});
  graph_.inputs.push_back(index);
  return {};
}

// The value index of a constant tensor.
Result<uint32_t> FunctionChecker::literal_tensor(const MilLiteral& literal) {
  if (literal.type.element != "fp16" && literal.type.element != "fp32")
    return unsupported(literal.place,
                       "a tensor of " + std::string(literal.type.element) + " as operand: fp16 is needed");
  Status shape = check_shape(literal.type.shape, limits::kMaxConvChannels);
  if (!shape.ok()) return invalid_program(literal.place, shape.message());
  GraphValue value{"", Dtype::kF16, literal.type.shape};
  if (literal.is_blob) {
    ANELANE_ASSIGN(value.constant, weights_.constant(literal, &graph_));
  } else {
    if (literal.numbers.size() != element_count(literal.type.shape))
      return invalid_program(literal.place, "the literal has " + std::to_string(literal.numbers.size()) +
                                                " elements, " + shape_text(literal.type.shape) + " needs " +
                                                std::to_string(element_count(literal.type.shape)));
    GraphConstant data;
    for (const double number : literal.numbers)
      data.owned.push_back(float_to_half(static_cast<float>(number)));
    value.constant = static_cast<uint32_t>(graph_.constants.size());
    graph_.constants.push_back(std::move(data));
  }
  graph_.values.push_back(std::move(value));
  return static_cast<uint32_t>(graph_.values.size() - 1);
}

Status FunctionChecker::constant(const MilStatement& statement) {
  const MilLiteral* literal = nullptr;
  for (const MilArgument& attribute : statement.attributes)
    if (attribute.name == "val" && attribute.literal) literal = &*attribute.literal;
  if (!statement.arguments.empty() || statement.results.size() != 1 || literal == nullptr)
    return invalid_program(statement.place, "const wants one result and the attribute val");
  const MilBinding& result = statement.results[0];
  if (result.type.element != literal->type.element || result.type.shape != literal->type.shape)
    return invalid_program(
        result.place, "const " + quote(result.name) + " is declared as " + std::string(result.type.element) +
                          shape_text(result.type.shape) + ", its value is " +
                          std::string(literal->type.element) + shape_text(literal->type.shape));
  return declare(result.name, result.place, {kNoIndex, literal, false});
}

Status FunctionChecker::tensor(const MilArgument& given, std::string_view name, size_t slot, GraphOp* op) {
  uint32_t index = kNoIndex;
  if (given.literal) {
    ANELANE_ASSIGN(index, literal_tensor(*given.literal));
  } else {
    const auto found = symbols_.find(name);
    if (found == symbols_.end())
      return invalid_program(given.place, quote(name) + " is not defined before this line");
    if (found->second.value == kNoIndex) {
      ANELANE_ASSIGN(found->second.value, literal_tensor(*found->second.literal));
    }
    index = found->second.value;
  }
  const GraphValue& value = graph_.values[index];
  if (value.dtype != Dtype::kF16 && op->call.info->op != MilOp::kCast)
    return unsupported(given.place, std::string(op->call.info->name) + ": Param '" + std::string(given.name) +
                                        "' must be fp16, got fp32: only cast reads it");
  OpArg& arg = op->call.args[slot];
  arg.shapes.push_back(value.shape);
  arg.constant = value.constant != kNoIndex;
  op->operands[slot].push_back(index);
  return {};
}

// A constant that steers the operation.
Status FunctionChecker::parameter(const MilArgument& given, const Param& param, const MilLiteral& literal,
                                  OpArg* arg) {
  const std::string_view element = literal.type.element;
  const bool list = param.kind == ParamKind::kInts || param.kind == ParamKind::kBools;
  const bool wants_bool = param.kind == ParamKind::kBool || param.kind == ParamKind::kBools;
  const auto wrong = [&](std::string_view wanted) {
    return invalid_program(given.place, "Param '" + std::string(given.name) + "' must be " +
                                            std::string(wanted) + ", got " + std::string(element) +
                                            shape_text(literal.type.shape));
  };
  if (literal.is_blob || literal.type.shape.size() != (list ? 1u : 0u))
    return wrong(list ? "a list" : "a scalar");
  if (list && literal.numbers.size() != literal.type.shape[0]) return wrong("a list of its declared length");
  if (list && literal.numbers.size() > 64) return wrong("a short list");
  if (param.kind == ParamKind::kText) {
    if (element != "string") return wrong("a string");
    arg->text = literal.text;
    return {};
  }
  if (!list && literal.numbers.size() != 1) return wrong("a scalar");
  if (param.kind == ParamKind::kFloat) {
    if (element != "fp16" && element != "fp32") return wrong("a float");
    arg->number = static_cast<float>(literal.numbers[0]);
    if (std::isnan(arg->number)) return wrong("a number");
    if (element == "fp16") arg->number = half_to_float(float_to_half(arg->number));
    return {};
  }
  if (wants_bool ? element != "bool" : element != "int32") return wrong(wants_bool ? "bool" : "int32");
  for (const double number : literal.numbers) {
    if (!(number >= -2147483648.0 && number <= 2147483647.0) || number != std::floor(number))
      return wrong("int32");
    arg->ints.push_back(static_cast<int64_t>(number));
  }
  return {};
}

Status FunctionChecker::argument(const MilArgument& given, const Param& param, size_t slot, GraphOp* op) {
  OpArg& arg = op->call.args[slot];
  if (arg.given)
    return invalid_program(given.place, "Param '" + std::string(given.name) + "' is given twice");
  arg.given = true;
  if (param.kind == ParamKind::kTensors) {
    for (const std::string_view name : given.values) ANELANE_TRY(tensor(given, name, slot, op));
    return {};
  }
  if (!given.literal && given.values.size() != 1)
    return invalid_program(given.place, "Param '" + std::string(given.name) + "' must name one value");
  if (param.kind == ParamKind::kTensor) return tensor(given, given.literal ? "" : given.values[0], slot, op);
  if (given.literal) return parameter(given, param, *given.literal, &arg);
  const auto found = symbols_.find(given.values[0]);
  if (found == symbols_.end())
    return invalid_program(given.place, quote(given.values[0]) + " is not defined before this line");
  if (found->second.literal == nullptr)
    return invalid_program(given.place, "Param '" + std::string(given.name) + "' must be a constant");
  return parameter(given, param, *found->second.literal, &arg);
}

// "; is "tanh" meant?" where a name is at most two letters, and half of them, away.
std::string like(std::string_view name) {
  constexpr size_t kFarthest = 2, kLongestName = 32;
  if (name.size() > kLongestName) return {};
  size_t least = kFarthest + 1;
  std::string_view nearest;
  for (size_t op = 0; op < static_cast<size_t>(MilOp::kCount); ++op) {
    const std::string_view known = op_info(static_cast<MilOp>(op)).name;
    // Edits by Levenshtein, one row of the table at a time.
    std::vector<size_t> row(known.size() + 1);
    for (size_t k = 0; k < row.size(); ++k) row[k] = k;
    for (size_t i = 0; i < name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t k = 0; k < known.size(); ++k) {
        const size_t changed = diagonal + (name[i] == known[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({changed, row[k] + 1, diagonal + 1});
      }
    }
    if (row.back() < least && 2 * row.back() <= name.size()) {
      least = row.back();
      nearest = known;
    }
  }
  return nearest.empty() ? std::string() : "; is " + quote(nearest) + " meant?";
}

Status FunctionChecker::operation(const MilStatement& statement) {
  const OpInfo* info = find_op(statement.op);
  if (info == nullptr)
    return unsupported(statement.place, "operation " + quote(statement.op) +
                                            " is not supported by this engine" + like(statement.op));
  GraphOp op(*info);
  op.place = statement.place;
  for (const MilArgument& given : statement.arguments) {
    const int slot = info->param(given.name);
    if (slot < 0)
      return invalid_program(given.place, std::string(info->name) + " has no parameter " + quote(given.name));
    Status status = argument(given, info->params[static_cast<size_t>(slot)], static_cast<size_t>(slot), &op);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < kMaxParams && info->params[i].name != nullptr; ++i)
    if (info->params[i].obligatory && !op.call.args[i].given)
      return invalid_program(statement.place, std::string(info->name) + ": Required param '" +
                                                  info->params[i].name + "' is missing");
  return results(statement, &op);
}

Status FunctionChecker::results(const MilStatement& statement, GraphOp* op) {
  const std::string name = op->call.info->name;
  Result<std::vector<Shape>> shapes = infer_shapes(op->call);
  if (!shapes.ok()) return unsupported(statement.place, name + ": " + shapes.status().message());
  if (shapes->size() != statement.results.size())
    return invalid_program(statement.place, name + " gives " + std::to_string(shapes->size()) + " results, " +
                                                std::to_string(statement.results.size()) + " are declared");
  const bool widens = op->call.info->op == MilOp::kCast && op->call.at("dtype").text == "fp32";
  for (size_t i = 0; i < shapes->size(); ++i) {
    const MilBinding& binding = statement.results[i];
    const std::string_view element = widens ? "fp32" : "fp16";
    if (binding.type.element != element || binding.type.shape != (*shapes)[i])
      return invalid_program(binding.place, name + " " + quote(binding.name) + ": Expected tensor<" +
                                                std::string(element) + ", " + shape_text((*shapes)[i]) +
                                                ">; got tensor<" + std::string(binding.type.element) + ", " +
                                                shape_text(binding.type.shape) + ">");
    const uint32_t index = static_cast<uint32_t>(graph_.values.size());
    ANELANE_TRY(declare(binding.name, binding.place, {index, nullptr, true}));
    graph_.values.push_back({std::string(binding.name), widens ? Dtype::kF32 : Dtype::kF16, (*shapes)[i]});
    op->results.push_back(index);
  }
  graph_.ops.push_back(std::move(*op));
  return {};
}

Status FunctionChecker::outputs() {
  if (source_.returns.empty()) return invalid_program(source_.place, "the function returns nothing");
  std::unordered_set<std::string_view> seen;
  for (const MilArgument& result : source_.returns) {
    const auto found = symbols_.find(result.name);
    if (found == symbols_.end())
      return invalid_program(result.place, "output " + quote(result.name) + " is not defined");
    if (!found->second.from_op)
      return invalid_program(result.place,
                             "output " + quote(result.name) + " must be produced by an operation");
    if (!seen.insert(result.name).second)
      return invalid_program(result.place, "output " + quote(result.name) + " is returned twice");
    if (graph_.values[found->second.value].shape.empty())
      return unsupported(result.place, "output " + quote(result.name) + " is a scalar");
    graph_.outputs.push_back(found->second.value);
  }
  return {};
}

Result<Graph> FunctionChecker::run() {
  graph_.function = source_.name;
  if (source_.inputs.empty()) return invalid_program(source_.place, "the function has no input");
  if (source_.inputs.size() > limits::kMaxPorts || source_.returns.size() > limits::kMaxPorts)
    return unsupported(source_.place,
                       "more than " + std::to_string(limits::kMaxPorts) + " inputs or outputs");
  for (const MilBinding& binding : source_.inputs) ANELANE_TRY(input(binding));
  for (const MilStatement& statement : source_.statements)
    ANELANE_TRY(statement.op == "const" ? constant(statement) : operation(statement));
  ANELANE_TRY(outputs());
  const auto by_name = [&](uint32_t a, uint32_t b) { return graph_.values[a].name < graph_.values[b].name; };
  std::sort(graph_.inputs.begin(), graph_.inputs.end(), by_name);
  std::sort(graph_.outputs.begin(), graph_.outputs.end(), by_name);
  return std::move(graph_);
}

}  // namespace

Result<Graph> check_program(const MilProgram& program, std::span<const uint8_t> weights) {
  WeightBlobReader blob;
  if (!weights.empty()) {
    ANELANE_ASSIGN(blob, WeightBlobReader::open(weights));
  }
  std::unordered_set<std::string_view> names;
  Graph chosen;
  for (const MilFunction& function : program.functions) {
    if (!names.insert(function.name).second)
      return invalid_program(function.place, "the function " + quote(function.name) + " is defined twice");
    FunctionChecker checker(function, weights.empty() ? nullptr : &blob);
    ANELANE_ASSIGN(Graph graph, checker.run());
    if (names.size() == 1 || function.name == "main") chosen = std::move(graph);
  }
  return chosen;
}

}  // namespace anelane::soft
