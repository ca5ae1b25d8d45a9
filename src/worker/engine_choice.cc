// "apple" and "soft" are taken at their word. "auto" tries Apple's engine where the system has one, and says
// in the log why it serves in software after all. Inside a host's process Apple's engine is refused until a
// doctor has passed on this machine: what goes wrong in the framework there cannot be ended by anybody.
#include "worker/engine_choice.h"

#include "ane_direct/apple/apple_engine.h"
#include "ane_direct/apple/doctor_marker.h"
#include "ane_direct/apple/system_checks.h"
#include "ane_direct/soft/compile.h"
#include "ane_direct/soft/soft_engine.h"
#include "base/log.h"

namespace anelane::worker {
namespace {

Result<std::unique_ptr<Engine>> make_soft(const InitBody& init) {
  SoftEngineOptions options;
  options.cache_dir = init.cache_dir;
  options.temp_dir = init.temp_dir;
  options.numerics = init.numerics;
  options.threads = init.soft_threads;
  options.signing_identifier = init.signing_identifier.empty() ? "anelane-worker" : init.signing_identifier;
  return make_soft_engine(options);
}

Result<std::unique_ptr<Engine>> make_apple(const InitBody& init, AppleEngineOptions options) {
  if (!options.paths.engine.empty() && init.in_host && !apple::doctor_passed(options.os_build))
    return error(
        Code::kUnsupported,
        "the Neural Engine is not used inside the program itself (thread mode) before it was tried on "
        "this machine: run `anelane doctor` once, or let the worker be a process");
  options.route = init.apple_route;
  options.mil_dialect = init.mil_dialect;
  options.cache_dir = init.cache_dir;
  return make_apple_engine(options);
}

}  // namespace

Result<std::unique_ptr<Engine>> choose_engine(const InitBody& init) {
  if (init.engine == "soft") return make_soft(init);
  if (init.engine == "apple") return make_apple(init, default_apple_options());
  if (init.engine == "auto") {
    const AppleEngineOptions options = default_apple_options();
    if (options.paths.engine.empty()) return make_soft(init);
    Result<std::unique_ptr<Engine>> apple = make_apple(init, options);
    if (apple.ok()) return apple;
    log_line(LogLevel::kWarn,
             "the Neural Engine is not used, all is computed in software: " + apple.status().message());
    return make_soft(init);
  }
  return error(Code::kInvalidArgument, "engine \"" + init.engine + "\" is not one of soft, apple, auto");
}

Status compiler_opinion(const Program& program) {
  return soft::compile_program(program).status();
}

std::vector<EngineCheck> engine_checks(const InitBody& init) {
  const char* report =
      "a newer anelane may know this system: update it, or report this line; --engine soft computes in "
      "software "
      "meanwhile";
  std::vector<EngineCheck> checks = {
      {"staging", "unset TMPDIR, or set it to the folder that is named here", {}},
      {"framework", report, {}},
      {"classes", report, {}},
      {"encodings", report, {}}};
  const AppleEngineOptions options = default_apple_options();
  if (init.engine == "soft" || options.paths.engine.empty()) return checks;
  checks[0].check = [options] { return apple::check_staging_folder(options); };
  checks[1].check = [paths = options.paths] { return apple::check_framework(paths); };
  checks[2].check = [paths = options.paths] { return apple::check_classes(paths); };
  checks[3].check = [paths = options.paths] { return apple::check_encodings(paths); };
  return checks;
}

Status mark_doctor_passed() {
  const AppleEngineOptions options = default_apple_options();
  if (options.paths.engine.empty() || options.os_build.empty())
    return error(Code::kEngineUnavailable, "this system has no Neural Engine that could have passed");
  return apple::mark_doctor_passed(options.os_build);
}

}  // namespace anelane::worker
