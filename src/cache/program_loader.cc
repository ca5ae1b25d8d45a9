// One layer, step by step (L8.2): ask, load; compile only what the daemon does not hold or cannot use; load
// again. A held program that does not load for want of resources is not compiled: a compile would take
// minutes and meet the same full engine. Everything else that stops a held program (a damaged entry, a
// half-deleted one) is cured by compiling. Temp space is looked at right before a compile and never before a
// load. No state; the engine's thread rules apply.
#include "cache/program_loader.h"

#include "base/clock.h"
#include "base/log.h"

namespace anelane {
namespace {

Status check_temp_space(Engine& engine, uint64_t minimum) {
  ANELANE_ASSIGN(const uint64_t free_bytes, engine.temp_space());
  if (free_bytes >= minimum) return {};
  return error(Code::kTempSpaceLow, "the temp folder has " + std::to_string(free_bytes >> 20) +
                                        " MiB free, a compile needs " + std::to_string(minimum >> 20) +
                                        " MiB")
      .with_limit(minimum);
}

// A refusal that compiling cannot cure.
bool is_final(Code code) {
  return code == Code::kResourcesExhausted || code == Code::kEngineUnavailable || code == Code::kOutOfMemory;
}

}  // namespace

Result<LayerLoad> load_program(Engine& engine, const Program& program, const LoaderOptions& options) {
  const uint64_t start = now_ns();
  const auto finished = [&](std::unique_ptr<LoadedProgram> loaded, LoadOrigin origin) {
    return LayerLoad{std::move(loaded), origin, static_cast<double>(now_ns() - start) / 1e6};
  };
  const std::string id = engine.identify(program);
  if (engine.probe_program(id, program)) {
    Result<std::unique_ptr<LoadedProgram>> held = engine.load_program(id, program);
    if (held.ok()) return finished(*std::move(held), LoadOrigin::kCache);
    if (is_final(held.status().code())) return std::move(held).status();
    log_line(LogLevel::kWarn,
             "a held program does not load and is compiled anew: " + held.status().message());
  }
  ANELANE_TRY(check_temp_space(engine, options.temp_space_min));
  ANELANE_TRY(engine.compile(id, program));
  ANELANE_ASSIGN(std::unique_ptr<LoadedProgram> fresh, engine.load_program(id, program));
  return finished(std::move(fresh), LoadOrigin::kCompiled);
}

bool rung_is_cached(Engine& engine, const Program& first, const Program& last) {
  const std::string first_id = engine.identify(first), last_id = engine.identify(last);
  const bool first_held = engine.probe_program(first_id, first);
  const bool last_held = first_id == last_id ? first_held : engine.probe_program(last_id, last);
  return first_held && last_held;
}

}  // namespace anelane
