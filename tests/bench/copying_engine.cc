// An engine that copies: programs are checked, compiled and kept as by the software engine, but an evaluation
// puts the first input into the first output and computes nothing. In its worker, what is left of a run is
// the way to the worker and back. It takes the place of src/worker/engine_choice.cc in a worker of the
// benchmarks' own.
#include <algorithm>
#include <cstring>

#include "ane_direct/soft/soft_engine.h"
#include "worker/engine_choice.h"

namespace anelane::worker {
namespace {

class CopyingProgram final : public LoadedProgram {
 public:
  explicit CopyingProgram(std::unique_ptr<LoadedProgram> program) : program_(std::move(program)) {}
  std::span<const Port> inputs() const override { return program_->inputs(); }
  std::span<const Port> outputs() const override { return program_->outputs(); }
  Status run(std::span<const Buffer> in, std::span<const Buffer> out) override {
    std::memcpy(out[0].data, in[0].data, std::min(in[0].bytes, out[0].bytes));
    return {};
  }

 private:
  std::unique_ptr<LoadedProgram> program_;
};

class CopyingEngine final : public Engine {
 public:
  explicit CopyingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  EngineInfo info() const override { return engine_->info(); }
  std::string identify(const Program& program) const override { return engine_->identify(program); }
  bool probe(const std::string& id) override { return engine_->probe(id); }
  Status compile(const std::string& id, const Program& program) override {
    return engine_->compile(id, program);
  }
  Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) override {
    ANELANE_ASSIGN(auto program, engine_->load(id));
    return std::unique_ptr<LoadedProgram>(new CopyingProgram(std::move(program)));
  }
  Result<uint64_t> temp_space() override { return engine_->temp_space(); }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Engine>> choose_engine(const InitBody& init) {
  SoftEngineOptions options;
  options.cache_dir = init.cache_dir;
  options.temp_dir = init.temp_dir;
  options.numerics = init.numerics;
  options.threads = 1;
  options.signing_identifier = "anelane-worker";
  ANELANE_ASSIGN(auto engine, make_soft_engine(options));
  return std::unique_ptr<Engine>(new CopyingEngine(std::move(engine)));
}

Status compiler_opinion(const Program&) {
  return {};
}
std::vector<EngineCheck> engine_checks(const InitBody&) {
  return {};
}
Status mark_doctor_passed() {
  return error(Code::kUnsupported, "this engine only copies");
}

}  // namespace anelane::worker
