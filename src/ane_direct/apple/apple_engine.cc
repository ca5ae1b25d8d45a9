// Puts the parts together: the framework, checked (framework.h); a route to its service (route.h); programs
// and their memory. What it decides itself:
//   - the route. "auto" takes the in-memory one; the client's when that one is missing, when TMPDIR forbids
//     it, or from the moment that the system refuses staged files. A switch is logged once and never undone;
//   - the dialect of the MIL text: the modern one from macOS 15 on, the old one before;
//   - the pause after a failed compile: the service that compiles restarts then, and a compile in between
//     fails or hangs. The next compile waits for the rest of it.
//
// No time limit can be put on a call into the framework. A worker process that is stuck in one is killed by
// the lane; that is why thread mode asks for a successful doctor first (doctor_marker.h).
//
// Threads: all calls come from the worker's engine thread; programs keep what they share with the engine
// alive.
#include "ane_direct/apple/apple_engine.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "ane_direct/apple/apple_program.h"
#include "ane_direct/apple/route.h"
#include "ane_direct/apple/surface.h"
#include "ane_direct/apple/temp_folder.h"
#include "ane_direct/content_id.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"

namespace anelane {
namespace apple {
namespace {

constexpr int kFirstModernSystem = 15;

void sleep_for(uint64_t ms) {
  timespec left{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1'000'000)};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

Result<MilDialect> choose_dialect(const std::string& wanted, const std::string& os_version) {
  if (wanted.empty())
    return std::atoi(os_version.c_str()) >= kFirstModernSystem ? MilDialect::kIos18 : MilDialect::kIos16;
  const auto dialect = find_mil_dialect(wanted);
  if (!dialect)
    return error(Code::kInvalidArgument, "MIL dialect \"" + wanted + "\" is not known: ios18 or ios16");
  return *dialect;
}

class AppleEngine final : public Engine {
 public:
  AppleEngine(AppleEngineOptions options, std::shared_ptr<const Framework> framework, MilDialect dialect)
      : options_(std::move(options)), framework_(std::move(framework)), dialect_(dialect) {}
  Status choose_route();

  EngineInfo info() const override {
    return {"apple", options_.os_build, "hardware", "", limits::kApplePoolLimit, dialect_};
  }
  std::string identify(const Program& program) const override { return content_id(program); }
  bool probe(const std::string& id) override { return route_->probe(id, nullptr); }
  bool probe_program(const std::string& id, const Program& program) override {
    return route_->probe(id, &program);
  }
  Status compile(const std::string& id, const Program& program) override;
  Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) override {
    return load_with(id, nullptr);
  }
  Result<std::unique_ptr<LoadedProgram>> load_program(const std::string& id,
                                                      const Program& program) override {
    return load_with(id, &program);
  }
  Result<uint64_t> temp_space() override;
  Result<std::unique_ptr<EngineMemory>> allocate(uint64_t bytes) override {
    ANELANE_ASSIGN(std::unique_ptr<Surface> surface, Surface::create(framework_, bytes));
    return std::unique_ptr<EngineMemory>(std::move(surface));
  }
  bool copies_foreign_memory() const override { return true; }

 private:
  Result<std::unique_ptr<LoadedProgram>> load_with(const std::string& id, const Program* program);
  Status open_in_memory();
  Status open_client();
  void wait_after_failure();

  AppleEngineOptions options_;
  std::shared_ptr<const Framework> framework_;
  MilDialect dialect_;
  std::unique_ptr<Route> route_;
  bool may_switch_ = false;
  std::optional<uint64_t> failed_at_ms_;  // of the last compile, if it failed
};

Status AppleEngine::open_in_memory() {
  ANELANE_TRY(framework_->check(Need::kInMemory));
  if (options_.user_temp_folder.empty())
    return error(Code::kEngineUnavailable, "the system names no temp folder of this user");
  ANELANE_TRY(
      check_tmpdir(options_.tmpdir.empty() ? nullptr : options_.tmpdir.c_str(), options_.user_temp_folder));
  StagingArea staging(options_.user_temp_folder);
  if (const size_t removed = staging.sweep(); removed != 0)
    log_line(LogLevel::kInfo,
             "removed what " + std::to_string(removed) + " interrupted compiles had left in the temp folder");
  route_ = make_in_memory_route(framework_, std::move(staging));
  return {};
}

Status AppleEngine::open_client() {
  ANELANE_TRY(framework_->check(Need::kClient));
  if (options_.cache_dir.empty() || options_.cache_dir[0] != '/')
    return error(Code::kInvalidArgument, "the client route needs a cache folder with an absolute path");
  route_ = make_client_route(framework_, join_path(options_.cache_dir, "apple-sources"));
  return {};
}

Status AppleEngine::choose_route() {
  if (options_.route == "in-memory") return open_in_memory();
  if (options_.route == "client") return open_client();
  if (!options_.route.empty() && options_.route != "auto")
    return error(Code::kInvalidArgument,
                 "route \"" + options_.route + "\" is not known: auto, in-memory or client");
  const Status in_memory = open_in_memory();
  if (in_memory.ok()) {
    may_switch_ = framework_->check(Need::kClient).ok() && !options_.cache_dir.empty();
    return {};
  }
  if (!open_client().ok()) return in_memory;
  log_line(LogLevel::kWarn, "the engine is used by its client route: " + in_memory.message());
  return {};
}

void AppleEngine::wait_after_failure() {
  if (!failed_at_ms_) return;
  const uint64_t passed = options_.now_ms() - *failed_at_ms_;
  if (passed < limits::kCompileBackoffMs) options_.sleep_ms(limits::kCompileBackoffMs - passed);
  failed_at_ms_.reset();
}

Status AppleEngine::compile(const std::string& id, const Program& program) {
  if (id != content_id(program)) return error(Code::kInvalidArgument, "the identifier is not the program's");
  wait_after_failure();
  CompileEnd end = CompileEnd::kBeforeService;
  Status status = route_->compile(id, program, &end);
  if (!status.ok() && end == CompileEnd::kStagingRefused && may_switch_) {
    log_line(LogLevel::kWarn, "from now on the engine is used by its client route: " + status.message());
    may_switch_ = false;
    ANELANE_TRY(open_client());
    end = CompileEnd::kBeforeService;
    status = route_->compile(id, program, &end);
  }
  if (!status.ok() && end == CompileEnd::kFailedInService) failed_at_ms_ = options_.now_ms();
  return status;
}

Result<std::unique_ptr<LoadedProgram>> AppleEngine::load_with(const std::string& id, const Program* program) {
  ANELANE_ASSIGN(std::unique_ptr<LiveModel> model, route_->load(id, program));
  return std::unique_ptr<LoadedProgram>(std::make_unique<AppleProgram>(framework_, std::move(model)));
}

Result<uint64_t> AppleEngine::temp_space() {
  const std::string& folder =
      options_.user_temp_folder.empty() ? options_.cache_dir : options_.user_temp_folder;
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return io_error("examine the temp folder", folder, errno);
  return static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_frsize);
}

}  // namespace
}  // namespace apple

Result<std::unique_ptr<Engine>> make_apple_engine(const AppleEngineOptions& wanted) {
  AppleEngineOptions options = wanted;
  ANELANE_ASSIGN(auto framework, apple::Framework::open(options.paths));
  if (!options.now_ms) options.now_ms = [] { return now_ns() / 1'000'000; };
  if (!options.sleep_ms) options.sleep_ms = apple::sleep_for;
  ANELANE_ASSIGN(const MilDialect dialect, apple::choose_dialect(options.mil_dialect, options.os_version));
  auto engine = std::make_unique<apple::AppleEngine>(std::move(options), std::move(framework), dialect);
  ANELANE_TRY(engine->choose_route());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace anelane
