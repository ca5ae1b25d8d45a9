// Prints what the library says of a program (anelane_mil_check): as it is with --json, else as lines like a
// compiler's, "FILE:LINE:COLUMN: …", which editors know. Exit code 1 when the compiler refuses the program;
// warnings alone are 0. Main thread only.
#include <anelane.h>

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mil.h"
#include "report.h"

namespace anelane_tool {
namespace {

using Json = nlohmann::json;

void print_ports(const char* side, const Json& ports) {
  for (const Json& port : ports) {
    std::string dims;
    for (const Json& dim : port["dims"])
      dims += (dims.empty() ? "" : ", ") + std::to_string(dim.get<uint64_t>());
    std::printf("%-7s %s %s [%s]\n", side, port["name"].get<std::string>().c_str(),
                port["dtype"].get<std::string>().c_str(), dims.c_str());
  }
}

// "InvalidMILProgram: line 10, column 76: …" as compilers say it. What is wrong with the weight file is said
// of that file.
void print_error(const MilCheckFlags& flags, std::string text) {
  std::string file = flags.mil;
  const std::string weight_fault = "weight file: ";
  unsigned line = 0, column = 0;
  int begin = 0;
  const size_t place = text.find("line ");
  if (text.rfind(weight_fault, 0) == 0 && !flags.weights.empty()) {
    file = flags.weights;
    text.erase(0, weight_fault.size());
  } else if (place != std::string::npos &&
             std::sscanf(text.c_str() + place, "line %u, column %u: %n", &line, &column, &begin) == 2 &&
             begin > 0) {
    file += ":" + std::to_string(line) + ":" + std::to_string(column);
    text.erase(place, static_cast<size_t>(begin));
  }
  if (flags.weights.empty() && text.find("without a weight file") != std::string::npos)
    text += "; name it with --weights";
  std::printf("%s: error: %s\n", file.c_str(), text.c_str());
}

void print_report(const MilCheckFlags& flags, const Json& told) {
  const std::string& file = flags.mil;
  if (told.contains("inputs")) print_ports("input", told["inputs"]);
  if (told.contains("outputs")) print_ports("output", told["outputs"]);
  if (told.contains("operations")) {
    std::string ops;
    for (const auto& [name, count] : told["operations"].items())
      ops += (ops.empty() ? "" : ", ") + name + " " + std::to_string(count.get<uint64_t>());
    std::printf("ops     %s\n", ops.c_str());
    std::printf("dialect %s\n", told["dialect"].get<std::string>().c_str());
    std::printf("weights %" PRIu64 " bytes\n", told["weight_bytes"].get<uint64_t>());
  }
  if (told.contains("warnings"))
    for (const Json& warning : told["warnings"])
      std::printf("%s:%u:%u: warning: %s [%s]\n", file.c_str(), warning["line"].get<unsigned>(),
                  warning["column"].get<unsigned>(), warning["message"].get<std::string>().c_str(),
                  warning["rule"].get<std::string>().c_str());
  if (told["error"].is_null())
    std::printf("the software engine's compiler takes it\n");
  else
    print_error(flags, told["error"].get<std::string>());
}

}  // namespace

int run_mil_check(const MilCheckFlags& flags) {
  const char* weights = flags.weights.empty() ? nullptr : flags.weights.c_str();
  anelane_error err = new_error();
  size_t length = 0;
  std::string text;
  // The file may change between the calls; then the length does, too.
  do {
    text.resize(length + 1);
    if (anelane_mil_check(flags.mil.c_str(), weights, text.data(), text.size(), &length, &err) != ANELANE_OK)
      return report(err);
  } while (length + 1 > text.size());
  text.resize(length);
  const Json told = Json::parse(text);
  if (flags.json)
    std::printf("%s\n", text.c_str());
  else
    print_report(flags, told);
  const int ended = finish_output();
  return ended == kExitDone && !told["error"].is_null() ? kExitRefused : ended;
}

}  // namespace anelane_tool
