// The parser does the work; here the types of the function's parameters, and of the values that it returns,
// become ports in the engine's layout. A returned value must be the result of a statement: its declared type
// is there. Whether the declaration is true is the compiler's business. Pure functions.
#include "ane_direct/mil_signature.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ane_direct/mil_parser.h"
#include "base/limits.h"

namespace anelane {
namespace {

std::optional<Dtype> find_dtype(std::string_view element) {
  if (element == "fp16") return Dtype::kF16;
  if (element == "fp32") return Dtype::kF32;
  if (element == "int32") return Dtype::kI32;
  if (element == "int8") return Dtype::kI8;
  if (element == "uint8") return Dtype::kU8;
  return std::nullopt;
}

Result<Port> port_of(const MilType& type, std::string_view name, SourcePlace place) {
  const auto wrong = [&](const std::string& what) {
    return invalid_program(place, "\"" + std::string(name.substr(0, 64)) + "\" " + what);
  };
  const std::optional<Dtype> dtype = find_dtype(type.element);
  if (!dtype)
    return wrong("is " + std::string(type.element.substr(0, 32)) +
                 ": an input or output must be fp16, fp32, int32, int8 or uint8");
  if (type.shape.empty()) return wrong("is a scalar: an input or output must be a tensor");
  if (const Status shape = check_shape(type.shape, limits::kMaxAxis); !shape.ok())
    return wrong(": " + shape.message());
  if (name.size() > limits::kMaxPortName)
    return wrong("has a name of " + std::to_string(name.size()) + " bytes: an input or output may have " +
                 std::to_string(limits::kMaxPortName));
  return make_port(std::string(name), *dtype, type.shape);
}

Status take(Result<Port> port, SourcePlace place, std::unordered_set<std::string>* seen,
            std::vector<Port>* ports) {
  if (!port.ok()) return std::move(port).status();
  if (!seen->insert(port->name).second)
    return invalid_program(place, "\"" + port->name + "\" is named twice");
  if (ports->size() == limits::kMaxPorts)
    return invalid_program(place,
                           "more than " + std::to_string(limits::kMaxPorts) + " inputs, or as many outputs");
  ports->push_back(*std::move(port));
  return {};
}

const MilFunction& main_function(const MilProgram& program) {
  for (const MilFunction& function : program.functions)
    if (function.name == "main") return function;
  return program.functions.front();
}

}  // namespace

Result<ProgramPorts> declared_ports(std::string_view mil) {
  ANELANE_ASSIGN(const MilProgram program, parse_mil(mil));
  const MilFunction& function = main_function(program);
  if (function.inputs.empty()) return invalid_program(function.place, "the function has no input");
  if (function.returns.empty()) return invalid_program(function.place, "the function returns nothing");
  ProgramPorts ports;
  std::unordered_set<std::string> seen;
  for (const MilBinding& input : function.inputs)
    ANELANE_TRY(take(port_of(input.type, input.name, input.place), input.place, &seen, &ports.inputs));
  std::unordered_map<std::string_view, const MilBinding*> made;
  for (const MilStatement& statement : function.statements)
    if (statement.op != "const")
      for (const MilBinding& result : statement.results) made.emplace(result.name, &result);
  for (const MilArgument& result : function.returns) {
    const auto found = made.find(result.name);
    if (found == made.end())
      return invalid_program(result.place, "output \"" + std::string(result.name.substr(0, 64)) +
                                               "\" is the result of no operation of this function");
    ANELANE_TRY(
        take(port_of(found->second->type, result.name, result.place), result.place, &seen, &ports.outputs));
  }
  const auto by_name = [](const Port& a, const Port& b) { return a.name < b.name; };
  std::sort(ports.inputs.begin(), ports.inputs.end(), by_name);
  std::sort(ports.outputs.begin(), ports.outputs.end(), by_name);
  return ports;
}

}  // namespace anelane
