// The engine in software, put together: the compiler (compile.h), the vault (program_store.h), the gate of
// the machine's one compiler, the pool of live programs, and the executor behind each loaded program.
//
// A vault that cannot be written or even opened does not make compiles fail: the plan stays in this engine's
// memory and is found by load() and probe() until the engine is closed; a WARN names the path and the reason.
//
// Threads: all calls come from the worker's engine thread; programs keep what they share with the engine
// alive. Nothing throws: memory that runs out is OUT_OF_MEMORY.
#include "ane_direct/soft/soft_engine.h"

#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <new>

#include "ane_direct/content_id.h"
#include "ane_direct/soft/compile.h"
#include "ane_direct/soft/compile_gate.h"
#include "ane_direct/soft/float_environment.h"
#include "ane_direct/soft/program_store.h"
#include "ane_direct/soft/soft_program.h"
#include "base/limits.h"
#include "base/log.h"

namespace anelane {
namespace soft {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// "debian-12": changes with the system's release, as the daemon's vault does; not with every kernel.
std::string system_build() {
  std::string id, version;
  if (const Result<std::string> text = read_file("/etc/os-release", 1u << 16); text.ok()) {
    for (size_t at = 0; at < text->size();) {
      const size_t end = std::min(text->find('\n', at), text->size());
      const std::string line = text->substr(at, end - at);
      at = end + 1;
      for (const auto& [key, into] : {std::pair{"ID=", &id}, std::pair{"VERSION_ID=", &version}})
        if (line.starts_with(key)) *into = line.substr(std::string_view(key).size());
    }
  }
  utsname names{};
  if (id.empty() && ::uname(&names) == 0) {
    id = names.sysname;
    version = names.release;
  }
  std::string build;
  for (const char c : id + "-" + version)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
        (c == '.' && !build.empty()))
      build += c;
  return build;
}

std::string temp_folder(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const char* variable = std::getenv("TMPDIR");
  return variable != nullptr && variable[0] != '\0' ? variable : "/tmp";
}

// Runs `body` in the default floating-point environment, with memory that runs out as an error of this place.
template <class Body>
auto guarded(const char* what, Body body) -> decltype(body()) {
  const FloatEnvironment environment;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory, std::string("not enough memory to ") + what);
  } catch (const std::exception& failure) {
    return error(Code::kInternal, std::string("cannot ") + what + ": " + failure.what());
  }
}

class SoftEngine : public Engine {
 public:
  SoftEngine(const SoftEngineOptions& options, std::string os_build, std::shared_ptr<SoftCore> core)
      : options_(options),
        os_build_(std::move(os_build)),
        core_(std::move(core)),
        gate_(options.cache_dir),
        temp_folder_(temp_folder(options.temp_dir)) {}

  Status open_store();
  EngineInfo info() const override;
  std::string identify(const Program& program) const override { return content_id(program); }
  Status check(const Program& program) const override;
  bool probe(const std::string& id) override;
  Status compile(const std::string& id, const Program& program) override;
  Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) override;
  Result<uint64_t> temp_space() override;

 private:
  Result<std::string> held(const std::string& id);
  void keep(const std::string& id, std::vector<uint8_t> bytes);

  SoftEngineOptions options_;
  std::string os_build_;
  std::shared_ptr<SoftCore> core_;
  CompileGate gate_;
  std::string temp_folder_;
  std::optional<ProgramStore> store_;
  std::map<std::string, std::string> unsaved_;  // plans that the vault did not take
};

Status SoftEngine::open_store() {
  Result<ProgramStore> store = ProgramStore::open(
      {options_.cache_dir, os_build_, options_.signing_identifier, options_.cache_ceiling, {}});
  if (store.ok()) {
    store_ = *std::move(store);
  } else if (store.status().code() == Code::kIo) {
    log_line(LogLevel::kWarn, store.status().message() + "; compiled programs are kept in memory only");
  } else {
    return store.status();
  }
  return {};
}

EngineInfo SoftEngine::info() const {
  return {"soft", os_build_, core_->numerics == Numerics::kLattice ? "lattice" : "fast", core_->kernels->name,
          core_->pool->limit()};
}

// The plan that stands for `id`, from the vault or from memory. An entry ends with the identifier that it was
// made for: a whole and valid plan of another program, wherever it came from, is not an answer.
Result<std::string> SoftEngine::held(const std::string& id) {
  std::string bytes;
  if (const auto found = unsaved_.find(id); found != unsaved_.end()) {
    bytes = found->second;
  } else {
    if (!store_) return error(Code::kIo, "the vault holds no program: it could not be opened");
    ANELANE_ASSIGN(bytes, store_->fetch(id));
  }
  if (!bytes.ends_with(id)) return error(Code::kIo, "the vault's entry is of another program");
  bytes.resize(bytes.size() - id.size());
  return bytes;
}

Status SoftEngine::check(const Program& program) const {
  return guarded("check the program", [&] { return compile_program(program).status(); });
}

bool SoftEngine::probe(const std::string& id) {
  const Result<std::string> bytes = guarded("read a compiled program", [&] { return held(id); });
  if (!bytes.ok()) return false;
  return guarded("check a compiled program",
                 [&]() -> Status { return decode_plan(bytes_of(*bytes)).status(); })
      .ok();
}

void SoftEngine::keep(const std::string& id, std::vector<uint8_t> bytes) {
  bytes.insert(bytes.end(), id.begin(), id.end());
  Status status = store_ ? store_->store(id, bytes) : error(Code::kIo, "the vault could not be opened");
  if (status.ok()) {
    unsaved_.erase(id);
    return;
  }
  log_line(LogLevel::kWarn, status.message() + "; the program is kept in memory and will be compiled again");
  unsaved_[id] = std::string(bytes.begin(), bytes.end());
}

Status SoftEngine::compile(const std::string& id, const Program& program) {
  return guarded("compile the program", [&]() -> Status {
    if (id != content_id(program))
      return error(Code::kInvalidArgument, "the identifier is not the program's");
    ANELANE_ASSIGN(const CompileGate::Ticket ticket, gate_.enter(limits::kCompileGateMs));
    ANELANE_ASSIGN(const Plan plan, compile_program(program));
    keep(id, encode_plan(plan));
    return {};
  });
}

Result<std::unique_ptr<LoadedProgram>> SoftEngine::load(const std::string& id) {
  return guarded("load the program", [&]() -> Result<std::unique_ptr<LoadedProgram>> {
    ANELANE_ASSIGN(const std::string bytes, held(id));
    return load_plan(core_, bytes_of(bytes));
  });
}

Result<uint64_t> SoftEngine::temp_space() {
  struct statvfs info {};
  if (::statvfs(temp_folder_.c_str(), &info) != 0)
    return io_error("examine the temp folder", temp_folder_, errno);
  return static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_frsize);
}

}  // namespace
}  // namespace soft

Result<std::unique_ptr<Engine>> make_soft_engine(const SoftEngineOptions& options) {
  return soft::guarded("open the engine", [&]() -> Result<std::unique_ptr<Engine>> {
    if (options.cache_dir.empty()) return error(Code::kInvalidArgument, "cache_dir is empty");
    if (options.pool_limit == 0 || options.pool_limit > limits::kMaxPoolLimit)
      return error(Code::kInvalidArgument, "pool_limit is " + std::to_string(options.pool_limit) + ", 1 to " +
                                               std::to_string(limits::kMaxPoolLimit) + " is accepted")
          .with_limit(limits::kMaxPoolLimit);
    auto core = std::make_shared<soft::SoftCore>();
    if (options.numerics == "lattice") {
      core->numerics = soft::Numerics::kLattice;
    } else if (!options.numerics.empty() && options.numerics != "fast") {
      return error(Code::kInvalidArgument,
                   "numerics \"" + options.numerics + "\" is not known: fast or lattice");
    }
    core->kernels = &soft::best_kernels();
    ANELANE_ASSIGN(core->threads, soft::ThreadPool::make(options.threads));
    auto engine = std::make_unique<soft::SoftEngine>(
        options, options.os_build.empty() ? soft::system_build() : options.os_build, core);
    ANELANE_TRY(engine->open_store());
    core->pool = soft::ProgramPool::open(options.cache_dir, options.pool_limit);
    return std::unique_ptr<Engine>(std::move(engine));
  });
}

}  // namespace anelane
