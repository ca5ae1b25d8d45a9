// `anelane doctor`, the part that must run where the engine runs: in the worker's process, under the worker's
// signature. Each step is one line of JSON before it ({"step", "begin": true}) and one after it
// ({"step", "outcome", "detail", "advice", "ms"}), so that a reader knows in which step this process died or
// hung.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "ane_direct/engine.h"
#include "base/json.h"
#include "base/status.h"
#include "worker/protocol.h"

namespace anelane::worker {

enum class StepOutcome { kOk, kFailed, kNotApplicable, kNotReached };

struct StepResult {
  StepOutcome outcome = StepOutcome::kOk;
  std::string detail;  // what was found
  std::string advice;  // what to do about it, where it failed
};

class DoctorReport {
 public:
  explicit DoctorReport(std::function<void(const std::string& line)> print) : print_(std::move(print)) {}
  // Runs a step and reports it. True: it did not fail.
  bool step(const char* name, const std::function<StepResult()>& body);
  // A step that cannot be done because of an earlier one.
  void not_reached(const char* name);
  // The last line; `engine`: the one that ran, "" for none.
  void end(const std::string& engine);
  bool failed() const { return failed_; }

 private:
  void print(const char* name, const StepResult& result, double ms);
  std::function<void(const std::string&)> print_;
  bool failed_ = false;
};

struct DoctorOptions {
  InitBody init;  // engine and folders; an empty cache_dir is the user's own
  uint64_t temp_space_min = 0;
  bool count_pool = false;  // fill the engine with programs to see how many it takes
};
// INVALID_ARGUMENT for what is no object of {"engine", "cache_dir", "temp_dir", "temp_space_min",
// "count_pool"}.
Result<DoctorOptions> parse_doctor_options(std::string_view json);

// True when no step failed.
bool run_doctor(const DoctorOptions& options, std::function<void(const std::string& line)> print);
// ---- its parts ----
StepResult describe_system();
StepResult describe_chip();
StepResult check_temp_folder(const std::string& option);
StepResult check_cache_folder(const std::string& folder);
StepResult describe_signature(const std::string& own_file);
// compile, load, run, reload, timings, pool.
void try_program(DoctorReport* report, Engine* engine, const DoctorOptions& options);

}  // namespace anelane::worker
