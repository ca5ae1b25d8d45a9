// The report is made in steps, and says as much as the first step that fails allows: parse, ports, warnings,
// and what the compiler of the software engine thinks. That compiler stands for all: what it refuses the
// others do, too, but for operations that it does not know.
#include "worker/mil_report.h"

#include <map>

#include "ane_direct/content_id.h"
#include "ane_direct/mil_lint.h"
#include "ane_direct/mil_parser.h"
#include "ane_direct/mil_signature.h"
#include "base/file.h"
#include "base/limits.h"
#include "worker/engine_choice.h"

namespace anelane::worker {
namespace {

Json ports_json(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) {
    Json dims = Json::array();
    for (const uint64_t dim : port.dims) dims.push(dim);
    list.push(Json::object()
                  .set("name", port.name)
                  .set("dtype", dtype_name(port.dtype))
                  .set("dims", dims)
                  .set("bytes", port.bytes));
  }
  return list;
}

Json ops_json(const MilProgram& program) {
  std::map<std::string_view, uint64_t> counts;
  for (const MilFunction& function : program.functions)
    for (const MilStatement& statement : function.statements)
      if (statement.op != "const") ++counts[statement.op];
  Json ops = Json::object();
  for (const auto& [name, count] : counts) ops.set(std::string(name), count);
  return ops;
}

Json warnings_json(const std::vector<MilWarning>& warnings) {
  Json list = Json::array();
  for (const MilWarning& warning : warnings)
    list.push(Json::object()
                  .set("rule", warning.rule)
                  .set("line", warning.place.line)
                  .set("column", warning.place.column)
                  .set("message", warning.message));
  return list;
}

}  // namespace

Result<Json> mil_report(const std::string& mil_path, const std::string& weights_path) {
  Program program;
  ANELANE_ASSIGN(program.mil, read_file(mil_path, limits::kMaxMilBytes));
  if (!weights_path.empty()) {
    ANELANE_ASSIGN(const std::string bytes, read_file(weights_path, limits::kMaxWeightFile));
    program.weights.assign(bytes.begin(), bytes.end());
  }
  Json report = Json::object();
  report.set("error", Json());
  const Result<MilProgram> parsed = parse_mil(program.mil);
  if (!parsed.ok()) return report.set("error", parsed.status().message());
  report.set("dialect", mil_dialect_name(parsed->dialect));
  Json functions = Json::array();
  for (const MilFunction& function : parsed->functions) functions.push(function.name);
  report.set("functions", functions);
  const Result<ProgramPorts> ports = declared_ports(program.mil);
  if (ports.ok()) {
    report.set("inputs", ports_json(ports->inputs)).set("outputs", ports_json(ports->outputs));
  } else {
    report.set("error", ports.status().message());
  }
  report.set("operations", ops_json(*parsed));
  report.set("weight_bytes", static_cast<uint64_t>(program.weights.size()));
  report.set("identifier", content_id(program));
  report.set("warnings", warnings_json(lint_mil(program.mil, *parsed)));
  const Status compiled = compiler_opinion(program);
  if (ports.ok() && !compiled.ok()) report.set("error", compiled.message());
  return report;
}

}  // namespace anelane::worker
