// The order of the steps is that of their needs: what a later one needs was looked at before. A step whose
// need is not met is reported as not reached, one that this system has no use for as not applicable; neither
// counts as passed. The reader kills this process when a step takes too long, so nothing here has a time-out.
// Main thread only.
#include "worker/doctor.h"

#include <array>
#include <memory>

#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "cache/program_loader.h"
#include "worker/engine_choice.h"
#include "worker/system_facts.h"

namespace anelane::worker {
namespace {

constexpr std::array<const char*, 4> kOutcomes{"ok", "failed", "not applicable", "not reached"};
constexpr std::array<const char*, 6> kProgramSteps{"compile", "load", "run", "reload", "timings", "pool"};

StepResult failed(const Status& status, std::string advice) {
  return {StepOutcome::kFailed, status.message(), std::move(advice)};
}

StepResult check_engine(const DoctorOptions& options, std::unique_ptr<Engine>* engine) {
  Result<std::unique_ptr<Engine>> made = choose_engine(options.init);
  if (!made.ok()) {
    const bool none_here = options.init.engine == "apple" && !engine_checks(options.init).front().check;
    return failed(made.status(),
                  none_here
                      ? "leave --engine away, or give --engine soft: no repair brings a Neural Engine here"
                      : "see the failed steps above; --engine soft computes in software meanwhile");
  }
  *engine = *std::move(made);
  const EngineInfo info = (*engine)->info();
  std::string detail = info.name + ", numerics " + info.numerics;
  if (!info.dispatch.empty()) detail += ", kernels " + info.dispatch;
  if (!info.os_build.empty()) detail += ", system build " + info.os_build;
  return {StepOutcome::kOk, detail, {}};
}

StepResult check_temp_space(Engine* engine, uint64_t minimum) {
  const Result<uint64_t> space = engine->temp_space();
  if (!space.ok()) return failed(space.status(), "make the temp folder usable, or name another one");
  const std::string detail =
      std::to_string(*space >> 20) + " MiB free, a compile needs " + std::to_string(minimum >> 20) + " MiB";
  if (*space >= minimum) return {StepOutcome::kOk, detail, {}};
  return {StepOutcome::kFailed, detail,
          "free space where the temp folder is: until then only programs that were compiled before can be "
          "loaded (TEMP_SPACE_LOW)"};
}

}  // namespace

bool DoctorReport::step(const char* name, const std::function<StepResult()>& body) {
  print_(Json::object().set("step", name).set("begin", true).dump());
  const uint64_t start = now_ns();
  const StepResult result = body();
  print(name, result, static_cast<double>(now_ns() - start) / 1e6);
  if (result.outcome == StepOutcome::kFailed) failed_ = true;
  return result.outcome != StepOutcome::kFailed;
}

void DoctorReport::not_reached(const char* name) {
  print(name, {StepOutcome::kNotReached, {}, {}}, 0);
}

void DoctorReport::print(const char* name, const StepResult& result, double ms) {
  Json line = Json::object().set("step", name);
  line.set("outcome", kOutcomes[static_cast<size_t>(result.outcome)]).set("detail", result.detail);
  line.set("advice", result.advice.empty() ? Json() : Json(result.advice)).set("ms", ms);
  print_(line.dump());
}

void DoctorReport::end(const std::string& engine) {
  print_(Json::object().set("end", true).set("engine", engine).dump());
}

Result<DoctorOptions> parse_doctor_options(std::string_view text) {
  ANELANE_ASSIGN(const Json json, parse_json(text, "the options of the doctor", 4));
  if (!json.is_object()) return error(Code::kInvalidArgument, "the options of the doctor are no object");
  DoctorOptions options;
  options.init.engine = json.at("engine").is_string() ? json.at("engine").as_string() : "auto";
  options.init.cache_dir = json.at("cache_dir").as_string();
  options.init.temp_dir = json.at("temp_dir").as_string();
  const int64_t minimum = json.at("temp_space_min").as_int(-1);
  options.temp_space_min = minimum < 0 ? LoaderOptions().temp_space_min : static_cast<uint64_t>(minimum);
  options.count_pool = json.at("count_pool").as_bool();
  return options;
}

bool run_doctor(const DoctorOptions& given, std::function<void(const std::string& line)> print) {
  DoctorOptions options = given;
  DoctorReport report(std::move(print));
  report.step("system", describe_system);
  report.step("chip", describe_chip);
  report.step("temp folder", [&] { return check_temp_folder(options.init.temp_dir); });
  const bool cache = report.step("cache folder", [&] {
    if (options.init.cache_dir.empty()) {
      const Result<std::string> folder = user_cache_folder();
      if (!folder.ok()) return failed(folder.status(), "set HOME, or name a folder with --cache-dir");
      options.init.cache_dir = join_path(*folder, "programs");
    }
    return check_cache_folder(options.init.cache_dir);
  });
  report.step("signature", [] { return describe_signature(own_executable()); });
  for (const EngineCheck& check : engine_checks(options.init))
    report.step(check.name, [&]() -> StepResult {
      if (!check.check)
        return {StepOutcome::kNotApplicable,
                options.init.engine == "soft" ? "the Neural Engine is not asked for"
                                              : "this system has no Neural Engine",
                {}};
      Result<std::string> found = check.check();
      if (!found.ok()) return failed(found.status(), check.advice);
      return {StepOutcome::kOk, *std::move(found), {}};
    });
  std::unique_ptr<Engine> engine;
  if (cache)
    report.step("engine", [&] { return check_engine(options, &engine); });
  else
    report.not_reached("engine");
  const bool space = engine && report.step("temp space", [&] {
    return check_temp_space(engine.get(), options.temp_space_min);
  });
  if (!engine) report.not_reached("temp space");
  if (space)
    try_program(&report, engine.get(), options);
  else
    for (const char* name : kProgramSteps) report.not_reached(name);
  report.end(engine ? engine->info().name : std::string());
  return !report.failed();
}

}  // namespace anelane::worker
