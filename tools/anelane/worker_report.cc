// States: between steps → in a step (its "begin" has come) → between steps, until "end" or until a line that
// is none of these. The worker may be any file that somebody named, so nothing that it says is taken on
// trust: each step is one of the list below, comes once, and has an outcome that is known; lines are counted,
// so their number is bounded. After "end", a worker that reported no failure must have done what the list
// asks for and must have left with code 0. Pure; one thread.
#include "worker_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace anelane_tool {
namespace {

using nlohmann::json;

constexpr size_t kLinesMax = 64;
constexpr size_t kShownMax = 200;  // of a line that is no step

struct Known {
  const char* name;
  bool done;  // a pass has done it; the others may be "not applicable"
};
constexpr Known kSteps[] = {{"system", true},       {"chip", false},      {"temp folder", true},
                            {"cache folder", true}, {"signature", false}, {"staging", false},
                            {"framework", false},   {"classes", false},   {"encodings", false},
                            {"engine", true},       {"temp space", true}, {"compile", true},
                            {"load", true},         {"run", true},        {"reload", true},
                            {"timings", true},      {"pool", false}};
constexpr std::string_view kOutcomes[] = {"ok", "failed", "not applicable", "not reached"};
static_assert(kLinesMax > 2 * std::size(kSteps), "a begin and an end for each step, and the end");

bool is_step(const std::string& name) {
  return std::any_of(std::begin(kSteps), std::end(kSteps),
                     [&](const Known& known) { return known.name == name; });
}

// The string under `name`; "" where it is missing or null. False: it is something else.
bool text_of(const json& line, const char* name, std::string* out) {
  const auto it = line.find(name);
  if (it == line.end() || it->is_null()) return true;
  if (!it->is_string()) return false;
  *out = it->get<std::string>();
  return true;
}

bool is_true(const json& line, const char* name) {
  const auto it = line.find(name);
  return it != line.end() && it->is_boolean() && it->get<bool>();
}

}  // namespace

DoctorStep WorkerReport::broken(const std::string& what) {
  over_ = failed_ = true;
  return {running_.empty() ? "worker process" : running_, "failed", what,
          "is it the anelane-worker of this build?", 0};
}

std::optional<DoctorStep> WorkerReport::hear(const std::string& text) {
  const auto no_step = [&] {
    return broken("the worker printed what is no step: " + text.substr(0, kShownMax));
  };
  if (++lines_ > kLinesMax) return broken("the worker printed more than its steps");
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return no_step();
  if (is_true(line, "end")) {
    if (!running_.empty() || !text_of(line, "engine", &engine_)) return no_step();
    over_ = complete_ = true;
    return std::nullopt;
  }
  DoctorStep step;
  if (!text_of(line, "step", &step.name) || !is_step(step.name) || outcomes_.count(step.name) != 0)
    return no_step();
  if (is_true(line, "begin")) {
    if (!running_.empty()) return no_step();
    running_ = step.name;
    return std::nullopt;
  }
  if (!text_of(line, "outcome", &step.outcome) || !text_of(line, "detail", &step.detail) ||
      !text_of(line, "advice", &step.advice) || (!running_.empty() && running_ != step.name) ||
      std::find(std::begin(kOutcomes), std::end(kOutcomes), step.outcome) == std::end(kOutcomes))
    return no_step();
  running_.clear();
  const auto ms = line.find("ms");
  if (ms != line.end() && ms->is_number()) step.ms = ms->get<double>();
  outcomes_[step.name] = step.outcome;
  failed_ |= step.outcome == "failed";
  return step;
}

std::optional<DoctorStep> WorkerReport::verdict(const std::string& ending) const {
  if (failed_) return std::nullopt;  // said already
  const auto wrong = [](const std::string& what) -> DoctorStep {
    return {"worker process", "failed", what, "is it the anelane-worker of this build?", 0};
  };
  if (!complete_) return wrong("the worker " + ending);
  for (const Known& known : kSteps) {
    const auto told = outcomes_.find(known.name);
    const std::string outcome = told == outcomes_.end() ? "missing" : told->second;
    if (outcome == "ok" || (outcome == "not applicable" && !known.done)) continue;
    return wrong(std::string("the worker reports no failure, but its step '") + known.name + "' is " +
                 outcome);
  }
  if (ending != "ended with code 0") return wrong("the worker reports no failure, but " + ending);
  if (engine_ != "soft" && engine_ != "apple") return wrong("the worker does not say which engine ran");
  return std::nullopt;
}

}  // namespace anelane_tool
