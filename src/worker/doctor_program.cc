// The tiny program of the doctor: a 1×1 convolution with bias and a ReLU, 64 channels by 64 columns, which is
// what a linear layer is on the engine. Inputs and weights are small multiples of 1/16, so that products and
// sums are multiples of 1/256 below 8, which fp16 holds exactly: an engine that sums in another order gives
// the same values, one that sums in fewer bits is a little off, and one that mixes up rows, channels or
// bindings is far off.
//
// It is compiled even where the cache has it: that is the step. Reload then must find it there.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "ane_direct/mil_writer.h"
#include "base/clock.h"
#include "base/fp16.h"
#include "worker/doctor.h"

namespace anelane::worker {
namespace {

constexpr size_t kChannels = 64, kColumns = 64;
constexpr int kTimedRuns = 50;
constexpr uint32_t kMostCounted = 256;  // programs; no machine is known to take more
constexpr double kTolerance = 0.02;     // of values up to about 4; wrong bindings are off by about 1

struct Reference {
  std::vector<float> x, weight, bias, y;
};

// `seed` makes the programs of the pool step different ones.
Reference make_reference(uint32_t seed) {
  Reference r;
  uint32_t state = 12345 + seed * 7919;
  const auto next = [&state](int range) {
    state = state * 1664525 + 1013904223;
    return static_cast<float>(static_cast<int>(state >> 24) % (2 * range + 1) - range) / 16;
  };
  for (size_t i = 0; i < kChannels * kColumns; ++i) r.x.push_back(next(8));
  for (size_t i = 0; i < kChannels * kChannels; ++i) r.weight.push_back(next(4));
  for (size_t i = 0; i < kChannels; ++i) r.bias.push_back(next(8));
  for (size_t o = 0; o < kChannels; ++o)
    for (size_t s = 0; s < kColumns; ++s) {
      double sum = r.bias[o];
      for (size_t c = 0; c < kChannels; ++c)
        sum += double{r.weight[o * kChannels + c]} * r.x[c * kColumns + s];
      r.y.push_back(static_cast<float>(std::max(sum, 0.0)));
    }
  return r;
}

Result<Program> make_program(const Reference& r, const Engine& engine) {
  MilWriter mil(engine.info().dialect);
  const MilValue x = mil.input("a00_x", {1, kChannels, 1, kColumns});
  const MilValue weight = mil.weight({kChannels, kChannels, 1, 1}, std::span<const float>(r.weight));
  const MilValue bias = mil.weight({kChannels}, std::span<const float>(r.bias));
  mil.output("z00_y", mil.relu(mil.conv(x, weight, {.bias = bias})));
  return std::move(mil).finish();
}

// Offset of row `channel`, column `column` in a port of dims [1, channels, 1, columns].
size_t offset_of(const Port& port, size_t channel, size_t column) {
  return channel * port.strides[1] + column * port.strides[3];
}

Status check_port(std::span<const Port> ports, const char* what) {
  if (ports.size() == 1 && ports[0].dims == std::vector<uint64_t>{1, kChannels, 1, kColumns} &&
      ports[0].strides.size() == 4 && offset_of(ports[0], kChannels - 1, kColumns - 1) + 2 <= ports[0].bytes)
    return {};
  return error(Code::kInternal, std::string("the loaded program has not the ") + what + " that it was given");
}

class Trial {
 public:
  explicit Trial(Engine* engine) : engine_(engine) {}
  Status prepare();
  StepResult compile();
  StepResult load();
  StepResult run();
  StepResult reload();
  StepResult timings();
  StepResult pool(bool count);

 private:
  Status evaluate(std::vector<Half>* out);
  Engine* const engine_;
  Reference reference_ = make_reference(0);
  Program program_;
  std::string id_;
  std::unique_ptr<LoadedProgram> loaded_;
  std::unique_ptr<EngineMemory> in_, out_;
  std::vector<Half> first_;
};

StepResult failed(const Status& status, const char* advice) {
  return {StepOutcome::kFailed, status.message(), advice};
}

std::string ms_text(uint64_t since_ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(now_ns() - since_ns) / 1e6);
  return text;
}

Status Trial::prepare() {
  ANELANE_ASSIGN(program_, make_program(reference_, *engine_));
  id_ = engine_->identify(program_);
  return {};
}

StepResult Trial::compile() {
  Status status = prepare();
  if (status.ok()) status = engine_->compile(id_, program_);
  if (!status.ok())
    return failed(status,
                  "run the doctor again; if it fails the same way, restart the machine, which restarts the "
                  "compiler's service, and report this line");
  return {StepOutcome::kOk, "id " + id_.substr(0, 16) + "…", {}};
}

StepResult Trial::load() {
  Result<std::unique_ptr<LoadedProgram>> loaded = engine_->load_program(id_, program_);
  if (!loaded.ok())
    return failed(loaded.status(),
                  loaded.status().code() == Code::kResourcesExhausted
                      ? "end other programs that use the Neural Engine, and run the doctor again"
                      : "report this line");
  loaded_ = *std::move(loaded);
  for (const Status& status :
       {check_port(loaded_->inputs(), "input"), check_port(loaded_->outputs(), "output")})
    if (!status.ok()) return failed(status, "report this line");
  return {StepOutcome::kOk,
          "input of " + std::to_string(loaded_->inputs()[0].bytes) + " bytes, output of " +
              std::to_string(loaded_->outputs()[0].bytes) + " bytes",
          {}};
}

Status Trial::evaluate(std::vector<Half>* out) {
  const Port &to = loaded_->inputs()[0], &from = loaded_->outputs()[0];
  ANELANE_ASSIGN(in_, engine_->allocate(to.bytes));
  ANELANE_ASSIGN(out_, engine_->allocate(from.bytes));
  ANELANE_TRY(in_->begin_access(EngineMemory::Access::kWrite));
  for (size_t c = 0; c < kChannels; ++c)
    for (size_t s = 0; s < kColumns; ++s) {
      const Half value = float_to_half(reference_.x[c * kColumns + s]);
      std::memcpy(static_cast<uint8_t*>(in_->buffer().data) + offset_of(to, c, s), &value, sizeof value);
    }
  ANELANE_TRY(in_->end_access(EngineMemory::Access::kWrite));
  const std::array<Buffer, 1> in{in_->buffer()}, result{out_->buffer()};
  ANELANE_TRY(loaded_->run(in, result));
  ANELANE_TRY(out_->begin_access(EngineMemory::Access::kRead));
  out->clear();
  for (size_t c = 0; c < kChannels; ++c)
    for (size_t s = 0; s < kColumns; ++s) {
      Half value{};
      std::memcpy(&value, static_cast<const uint8_t*>(out_->buffer().data) + offset_of(from, c, s),
                  sizeof value);
      out->push_back(value);
    }
  return out_->end_access(EngineMemory::Access::kRead);
}

StepResult Trial::run() {
  const Status status = evaluate(&first_);
  if (!status.ok()) return failed(status, "report this line");
  double worst = 0;
  for (size_t i = 0; i < first_.size(); ++i) {
    const double off = std::fabs(half_to_float(first_[i]) - reference_.y[i]);
    worst = std::isnan(off) ? INFINITY : std::max(worst, off);
  }
  char text[96];
  std::snprintf(text, sizeof text, "%zu values, largest difference from double precision %.5f", first_.size(),
                worst);
  if (worst > kTolerance)
    return {StepOutcome::kFailed, text,
            "do not use this engine here: its results are wrong; report this line"};
  return {StepOutcome::kOk, text, {}};
}

StepResult Trial::reload() {
  loaded_.reset();
  const uint64_t start = now_ns();
  if (!engine_->probe_program(id_, program_))
    return {StepOutcome::kFailed, "the cache does not hold the program that was just compiled",
            "see the step \"cache folder\"; without a cache every start compiles anew"};
  const StepResult loaded = load();
  if (loaded.outcome == StepOutcome::kFailed) return loaded;
  const std::string took = ms_text(start);
  std::vector<Half> again;
  const Status status = evaluate(&again);
  if (!status.ok()) return failed(status, "report this line");
  if (again.size() != first_.size() ||
      std::memcmp(again.data(), first_.data(), again.size() * sizeof(Half)) != 0)
    return {StepOutcome::kFailed, "the reloaded program gives other values", "report this line"};
  return {StepOutcome::kOk, "loaded from the cache in " + took + ", same values", {}};
}

StepResult Trial::timings() {
  const std::array<Buffer, 1> in{in_->buffer()}, out{out_->buffer()};
  std::vector<double> us;
  for (int i = 0; i < kTimedRuns; ++i) {
    const uint64_t start = now_ns();
    const Status status = loaded_->run(in, out);
    if (!status.ok()) return failed(status, "report this line");
    us.push_back(static_cast<double>(now_ns() - start) / 1e3);
  }
  std::sort(us.begin(), us.end());
  char text[96];
  std::snprintf(text, sizeof text, "%d runs: median %.1f us, least %.1f us, most %.1f us", kTimedRuns,
                us[us.size() / 2], us.front(), us.back());
  return {StepOutcome::kOk, text, {}};
}

StepResult Trial::pool(bool count) {
  const std::string limit = std::to_string(engine_->info().pool_limit);
  if (!count)
    return {StepOutcome::kNotApplicable,
            "not counted (--count-pool fills the engine for a moment); limit " + limit,
            {}};
  std::vector<std::unique_ptr<LoadedProgram>> live;
  Status refusal;
  while (refusal.ok() && live.size() < kMostCounted) {
    const Result<Program> program =
        make_program(make_reference(static_cast<uint32_t>(live.size()) + 1), *engine_);
    if (!program.ok()) return failed(program.status(), "report this line");
    const std::string id = engine_->identify(*program);
    if (!engine_->probe_program(id, *program)) refusal = engine_->compile(id, *program);
    if (!refusal.ok()) break;
    Result<std::unique_ptr<LoadedProgram>> loaded = engine_->load_program(id, *program);
    if (loaded.ok())
      live.push_back(*std::move(loaded));
    else
      refusal = loaded.status();
  }
  // The one of the other steps is live as well.
  const std::string found = std::to_string(live.size() + 1) + " programs live at once, limit " + limit;
  if (refusal.ok() || refusal.code() == Code::kResourcesExhausted) return {StepOutcome::kOk, found, {}};
  return failed(refusal, "report this line");
}

}  // namespace

void try_program(DoctorReport* report, Engine* engine, const DoctorOptions& options) {
  Trial trial(engine);
  bool good = true;
  const auto step = [&](const char* name, const std::function<StepResult()>& body) {
    if (good)
      good = report->step(name, body);
    else
      report->not_reached(name);
  };
  step("compile", [&] { return trial.compile(); });
  step("load", [&] { return trial.load(); });
  step("run", [&] { return trial.run(); });
  step("reload", [&] { return trial.reload(); });
  step("timings", [&] { return trial.timings(); });
  step("pool", [&] { return trial.pool(options.count_pool); });
}

}  // namespace anelane::worker
