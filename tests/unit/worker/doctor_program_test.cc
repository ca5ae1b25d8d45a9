// The tiny program's steps on engines that do one thing wrong each: the step that is about it must fail, and
// what comes after it must not be reached.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ane_direct/soft/soft_engine.h"
#include "base/json.h"
#include "support/tiny_checkpoint.h"
#include "worker/doctor.h"

namespace anelane::worker {
namespace {

enum class Habit {
  kNone,
  kOneWrongValue,
  kNotANumber,
  kForgetsTheCache,
  kOtherValuesLater,
  kNoRoom,
  kNoCompile
};

class HabitProgram final : public LoadedProgram {
 public:
  HabitProgram(std::unique_ptr<LoadedProgram> real, Habit habit, int load)
      : real_(std::move(real)), habit_(habit), load_(load) {}
  std::span<const Port> inputs() const override { return real_->inputs(); }
  std::span<const Port> outputs() const override { return real_->outputs(); }
  Status run(std::span<const Buffer> in, std::span<const Buffer> out) override {
    ANELANE_TRY(real_->run(in, out));
    uint8_t* last = static_cast<uint8_t*>(out[0].data) + out[0].bytes - 2;
    const uint16_t bits = habit_ == Habit::kNotANumber ? 0x7e00 : 0x4880;  // NaN, 9
    if (habit_ == Habit::kOneWrongValue || habit_ == Habit::kNotANumber ||
        (habit_ == Habit::kOtherValuesLater && load_ > 1))
      std::memcpy(last, &bits, sizeof bits);
    return {};
  }

 private:
  std::unique_ptr<LoadedProgram> real_;
  const Habit habit_;
  const int load_;
};

class HabitEngine final : public Engine {
 public:
  HabitEngine(std::unique_ptr<Engine> real, Habit habit) : real_(std::move(real)), habit_(habit) {}
  EngineInfo info() const override { return real_->info(); }
  std::string identify(const Program& program) const override { return real_->identify(program); }
  bool probe(const std::string& id) override { return habit_ != Habit::kForgetsTheCache && real_->probe(id); }
  Status compile(const std::string& id, const Program& program) override {
    if (habit_ == Habit::kNoCompile) return error(Code::kCompileFailed, "no such op");
    return real_->compile(id, program);
  }
  Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) override {
    if (habit_ == Habit::kNoRoom) return error(Code::kResourcesExhausted, "no room");
    ANELANE_ASSIGN(auto loaded, real_->load(id));
    return std::unique_ptr<LoadedProgram>(
        std::make_unique<HabitProgram>(std::move(loaded), habit_, ++loads_));
  }
  Result<uint64_t> temp_space() override { return real_->temp_space(); }

 private:
  std::unique_ptr<Engine> real_;
  const Habit habit_;
  int loads_ = 0;
};

// {step: outcome}, and the advice of the step that failed.
std::map<std::string, std::string> outcomes(Habit habit, std::string* advice = nullptr) {
  const TempFolder folder;
  SoftEngineOptions options;
  options.cache_dir = options.temp_dir = folder.path();
  options.signing_identifier = "anelane-worker";
  options.threads = 1;
  auto soft = make_soft_engine(options);
  EXPECT_TRUE(soft.ok());
  HabitEngine engine(*std::move(soft), habit);
  std::map<std::string, std::string> found;
  DoctorReport report([&](const std::string& line) {
    const auto json = parse_json(line, "a line");
    ASSERT_TRUE(json.ok()) << line;
    if (json->find("begin") != nullptr) return;
    found[json->at("step").as_string()] = json->at("outcome").as_string();
    if (advice != nullptr && json->at("outcome").as_string() == "failed")
      *advice = json->at("advice").as_string();
  });
  try_program(&report, &engine, {});
  return found;
}

// The steps up to `failing` are ok, that one fails, the rest is not reached.
void expect_fails_at(Habit habit, const std::string& failing) {
  std::string advice;
  const auto found = outcomes(habit, &advice);
  bool before = true;
  for (const char* step : {"compile", "load", "run", "reload", "timings", "pool"}) {
    const bool here = step == failing;
    EXPECT_EQ(found.at(step), here ? "failed" : before ? "ok" : "not reached") << step;
    if (here) before = false;
  }
  EXPECT_NE(advice, "");
}

TEST(DoctorProgram, AGoodEnginePasses) {
  const auto found = outcomes(Habit::kNone);
  for (const char* step : {"compile", "load", "run", "reload", "timings"})
    EXPECT_EQ(found.at(step), "ok") << step;
  EXPECT_EQ(found.at("pool"), "not applicable");
}
TEST(DoctorProgram, OneWrongValueIsSeen) {
  expect_fails_at(Habit::kOneWrongValue, "run");
  expect_fails_at(Habit::kNotANumber, "run");
}
TEST(DoctorProgram, L8_2_ACompiledProgramMustBeInTheCache) {
  expect_fails_at(Habit::kForgetsTheCache, "reload");
}
TEST(DoctorProgram, OtherValuesFromTheCacheAreSeen) {
  expect_fails_at(Habit::kOtherValuesLater, "reload");
}
TEST(DoctorProgram, RefusalsFailTheirStep) {
  expect_fails_at(Habit::kNoCompile, "compile");
  std::string advice;
  outcomes(Habit::kNoRoom, &advice);
  EXPECT_NE(advice.find("end other programs"), std::string::npos);
  expect_fails_at(Habit::kNoRoom, "load");
}

}  // namespace
}  // namespace anelane::worker
