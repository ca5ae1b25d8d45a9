// Three parts: what this program can see of library and worker; the steps in a worker's process, where a
// crash of the system's framework ends that process only (worker_steps.h); and a tiny model through a real
// lane, as any host would use it, in a folder of its own. Every step is printed as it ends, a step of which
// the need is not met as "not reached", one that this system has no use for as "not applicable". Only failed
// steps make the doctor fail. After a pass on the Neural Engine the worker leaves the mark that thread mode
// asks for. Main thread only.
#include "doctor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "find_worker.h"
#include "peek.h"
#include "printable.h"
#include "reference_encoder.h"
#include "report.h"
#include "session.h"
#include "temp_folder.h"
#include "tiny_model.h"
#include "worker_steps.h"

namespace anelane_tool {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kLaneMs = 600'000;  // bounds the lane's part
constexpr double kCosineLeast = 0.999;

class Doctor {
 public:
  explicit Doctor(const DoctorFlags& flags) : flags_(flags) {}
  int run();

 private:
  void add(DoctorStep step);
  void step(const char* name, const std::function<void(DoctorStep*)>& body);
  void check_library(DoctorStep* step);
  void check_worker(DoctorStep* step);
  void check_lane(DoctorStep* step);
  void leave_mark(DoctorStep* step);
  void check_crash_loops(DoctorStep* step);
  std::string worker_options() const;

  const DoctorFlags flags_;
  std::vector<DoctorStep> steps_;
  std::string worker_;
  bool failed_ = false;
};

void fail(DoctorStep* step, std::string detail, std::string advice) {
  step->outcome = "failed";
  step->detail = std::move(detail);
  step->advice = std::move(advice);
}

void Doctor::add(DoctorStep step) {
  if (step.outcome == "failed") failed_ = true;
  if (!flags_.json) {
    const char* mark = step.outcome == "ok" ? "ok" : step.outcome == "failed" ? "FAILED" : "-";
    const bool done = step.outcome == "ok" || step.outcome == "failed";
    std::printf("%-7s %-13s %s%s%s\n", mark, step.name.c_str(), done ? "" : step.outcome.c_str(),
                done || step.detail.empty() ? "" : ": ", printable(step.detail).c_str());
    if (!step.advice.empty()) std::printf("%-21s => %s\n", "", printable(step.advice).c_str());
    std::fflush(stdout);
  }
  steps_.push_back(std::move(step));
}

void Doctor::step(const char* name, const std::function<void(DoctorStep*)>& body) {
  DoctorStep step{name, "ok", {}, {}, 0};
  const auto start = std::chrono::steady_clock::now();
  body(&step);
  step.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  add(std::move(step));
}

void Doctor::check_library(DoctorStep* step) {
  step->detail = std::string(anelane_version()) + ", interface " + std::to_string(anelane_abi_version());
  if (anelane_abi_version() != ANELANE_ABI_VERSION)
    fail(step, step->detail + "; this tool needs interface " + std::to_string(ANELANE_ABI_VERSION),
         "install library and tool from the same build");
}

void Doctor::check_worker(DoctorStep* step) {
  std::string tried, fault;
  const std::string file = find_worker(&tried);
  if (file.empty())
    return fail(step, "there is no worker executable; tried " + (tried.empty() ? "nothing" : tried),
                "install anelane-worker beside the library, or name it in ANELANE_WORKER");
  const std::string version = ask_worker(file, "--version", &fault);
  if (!fault.empty()) return fail(step, file + ": " + fault, "install the worker again");
  if (version.rfind(std::string("anelane-worker ") + anelane_version(), 0) != 0)
    return fail(step, file + " says '" + version.substr(0, 100) + "', the library is " + anelane_version(),
                "install library and worker from the same build");
  step->detail = file + ", " + version;
  worker_ = file;
}

std::string Doctor::worker_options() const {
  ordered_json options = {{"engine", engine_name(flags_.engine)},
                          {"cache_dir", absolute_folder(flags_.cache_dir)},
                          {"temp_dir", absolute_folder(flags_.temp_dir)},
                          {"count_pool", flags_.count_pool}};
  if (flags_.temp_space_min) options["temp_space_min"] = *flags_.temp_space_min;
  return options.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// The whole way from token ids to vectors, with lane and cache apart from the user's.
void Doctor::check_lane(DoctorStep* step) {
  const char* advice = "run `anelane selftest`, which looks closer, and report what it prints";
  const TempFolder folder("anelane-doctor");
  if (folder.path().empty())
    return fail(step, "cannot make a temporary folder", "see the step 'temp folder'");
  const TinyModel tiny;
  const std::string model_dir = folder.path() + "/tiny";
  if (const auto fault = tiny.write(model_dir)) return fail(step, *fault, "free space in the temp folder");
  LaneFlags lane;
  lane.engine = flags_.engine;
  lane.temp_dir = absolute_folder(flags_.temp_dir);
  lane.lock_dir = folder.path() + "/lane";
  lane.cache_dir = folder.path() + "/cache";
  ProgressLine line;
  Session session(lane, &line);
  anelane_error err = new_error();
  const auto refused = [&] {
    char text[1024];
    anelane_error_text(&err, text, sizeof text);
    line.erase();
    fail(step, text, advice);
  };
  const uint64_t deadline = deadline_after_ms(kLaneMs);
  if (session.open(deadline, &err) != ANELANE_OK || session.load(model_dir, deadline, &err) != ANELANE_OK)
    return refused();
  const std::vector<int32_t> ids = {5, 12, 19, 26, 33, 40, 47};
  const anelane_tokens item = {ids.data(), ids.size()};
  std::vector<float> row(session.info().dim);
  if (anelane_embed(session.model(), &item, 1, row.data(), 0, nullptr, deadline, &err) != ANELANE_OK)
    return refused();
  line.erase();
  const std::vector<double> right = reference_vector(tiny, ids);
  double dot = 0, squares = 0;
  for (size_t i = 0; i < std::min(row.size(), right.size()); ++i) {
    dot += row[i] * right[i];
    squares += double{row[i]} * row[i];
  }
  const double cosine = squares > 0 ? dot / std::sqrt(squares) : 0;
  char text[128];
  std::snprintf(text, sizeof text, "a tiny model in a worker process on the %s engine, cosine %.6f",
                engine_name(session.info().engine), cosine);
  step->detail = text;
  if (!(cosine >= kCosineLeast))
    return fail(step, text, "do not use this engine here: its results are wrong");
  if (session.close(&err) != ANELANE_OK) refused();
}

void Doctor::leave_mark(DoctorStep* step) {
  std::string fault;
  ask_worker(worker_, "--doctor-passed", &fault);
  if (!fault.empty()) return fail(step, fault, "make the user's cache folder writable");
  step->detail = "thread mode may use the Neural Engine on this system";
}

// Of the user's lane, not of the one above: what programs met, now that everything is known to work or not.
void Doctor::check_crash_loops(DoctorStep* step) {
  const std::string folder = absolute_folder(flags_.lock_dir);
  anelane_error err = new_error();
  const std::string text = peek_lane(folder, &err);
  if (text.empty()) {
    char why[1024];
    anelane_error_text(&err, why, sizeof why);
    return fail(step, why, "make the lane's folder readable");
  }
  bool held = false;
  for (const CrashLoop& loop : crash_loops(text)) {
    step->detail += (step->detail.empty() ? "" : "; ") + words(loop);
    held = held || loop.wait_ms > 0;
  }
  if (step->detail.empty()) step->detail = "none";
  if (held)
    fail(
        step, step->detail,
        "look at the log of the program that loads it; once the cause is mended, wait, or load it again, or, "
        "where that is refused, remove lane.crashes.json from the lane's folder");
}

int Doctor::run() {
  step("library", [this](DoctorStep* s) { check_library(s); });
  step("worker", [this](DoctorStep* s) { check_worker(s); });
  WorkerEnd end;
  if (!worker_.empty())
    end = run_worker_steps(worker_, worker_options(), [this](const DoctorStep& s) { add(s); });
  else
    add({"worker steps", "not reached", {}, {}, 0});
  if (failed_)
    add({"lane", "not reached", {}, {}, 0});
  else
    step("lane", [this](DoctorStep* s) { check_lane(s); });
  if (end.engine != "apple")
    add({"mark", "not applicable", "it is left by a pass on the Neural Engine", {}, 0});
  else if (failed_)
    add({"mark", "not reached", {}, {}, 0});
  else
    step("mark", [this](DoctorStep* s) { leave_mark(s); });
  step("crash loops", [this](DoctorStep* s) { check_crash_loops(s); });
  if (flags_.json) {
    ordered_json out = {{"version", anelane_version()}, {"passed", !failed_}};
    out["engine"] = end.engine.empty() ? ordered_json() : ordered_json(end.engine);
    out["steps"] = ordered_json::array();
    for (const DoctorStep& s : steps_)
      out["steps"].push_back({{"step", s.name},
                              {"outcome", s.outcome},
                              {"detail", s.detail},
                              {"advice", s.advice.empty() ? ordered_json() : ordered_json(s.advice)},
                              {"ms", s.ms}});
    std::puts(out.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    const auto failures = std::count_if(steps_.begin(), steps_.end(),
                                        [](const DoctorStep& s) { return s.outcome == "failed"; });
    if (failed_)
      std::printf("doctor: %d of %zu steps FAILED\n", static_cast<int>(failures), steps_.size());
    else
      std::printf("doctor: nothing is wrong, on the %s engine\n", printable(end.engine).c_str());
  }
  const int output = finish_output();
  return failed_ ? kExitRefused : output;
}

}  // namespace

int run_doctor(const DoctorFlags& flags) {
  return Doctor(flags).run();
}

}  // namespace anelane_tool
