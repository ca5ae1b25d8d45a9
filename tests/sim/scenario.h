// A scenario: a workload as text, its log as short lines. "9050 admit_start A:128", "50 answer #2
// SHAPE_COMPILING 140000".
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oracle.h"

namespace anelane::sim {

using Log = std::vector<std::string>;

inline std::string short_line(const LogLine& line, const std::vector<Model>& models) {
  const Result<Json> json = parse_json(line_json(line, models), "line");
  const Json& j = *json;
  std::string out = j.at("t").dump() + " " + j.at("ev").as_string();
  if (j.find("model") != nullptr) out += " " + j.at("model").as_string();
  if (j.find("shape") != nullptr) out += ":" + j.at("shape").dump();
  if (j.find("id") != nullptr) out += " #" + j.at("id").dump();
  for (const char* key : {"outcome", "code"})
    if (j.find(key) != nullptr) out += " " + j.at(key).as_string();
  for (const char* key : {"retry_after_ms", "loaded", "already_resident", "skipped_for_budget"})
    if (j.find(key) != nullptr) out += " " + j.at(key).dump();
  return out;
}

// Runs under the oracle too: a scenario that breaks a rule fails whatever it expects.
inline Log run_scenario(const Workload& workload) {
  World world(workload);
  Oracle oracle(world, workload);
  world.watch(&oracle);
  world.run();
  EXPECT_EQ(oracle.violation(), "");
  EXPECT_EQ(world.scheduler().broken(), "");
  Log out;
  for (const LogLine& line : world.log())
    if (line.ev != Ev::kAsk && line.ev != Ev::kCancel) out.push_back(short_line(line, workload.models));
  return out;
}
inline Log run_scenario(const std::string& text) {
  const Result<Workload> workload = parse_workload(text, "scenario");
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return workload.ok() ? run_scenario(*workload) : Log{};
}

inline bool has(const Log& log, const std::string& line) {
  return std::find(log.begin(), log.end(), line) != log.end();
}
inline size_t count(const Log& log, const std::string& part) {
  return static_cast<size_t>(std::count_if(
      log.begin(), log.end(), [&](const std::string& l) { return l.find(part) != std::string::npos; }));
}

// Mock models of the scenarios: 4 executables a shape, unknown costs unless said.
inline std::string mock(const std::string& name, const std::string& more = "") {
  return R"({"name":")" + name +
         R"(","layers":4,"ladder":[128,256,512,1024,2048],"true_ms":{"128":1000,"256":1000,"512":1000,"1024":1000,"2048":1000})" +
         (more.empty() ? "" : "," + more) + "}";
}
inline std::string scene(const std::string& options, const std::string& models, const std::string& events,
                         const std::string& until = "700000") {
  return R"({"options":{)" + options + R"(},"models":[)" + models + R"(],"events":[)" + events +
         R"(],"until":)" + until + "}";
}

}  // namespace anelane::sim
