// Errors, refusals without a reason, exceptions, and the pause after a failed compile.
#include <gtest/gtest.h>

#include "ane_direct/apple/api_table.h"
#include "base/limits.h"
#include "on_standin.h"

namespace anelane {
namespace {

bool mentions(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

struct Step {
  Status compile, load, run;
};

Step walk(Engine& engine, const Program& program) {
  const std::string id = engine.identify(program);
  Step step;
  step.compile = engine.compile(id, program);
  if (!step.compile.ok()) return step;
  auto loaded = engine.load_program(id, program);
  step.load = loaded.status();
  if (!step.load.ok()) return step;
  const auto in = engine.allocate((*loaded)->inputs()[0].bytes);
  const auto out = engine.allocate((*loaded)->outputs()[0].bytes);
  step.run = !in.ok() ? in.status() : out.status();
  if (!step.run.ok()) return step;
  const Buffer from = (*in)->buffer(), to = (*out)->buffer();
  step.run = (*loaded)->run(std::span(&from, 1), std::span(&to, 1));
  return step;
}

class Routes : public testing::TestWithParam<const char*> {
 protected:
  Machine machine_;
};
INSTANTIATE_TEST_SUITE_P(Errors, Routes, testing::Values("in-memory", "client"), [](const auto& route) {
  return std::string(route.param[0] == 'c' ? "Client" : "InMemory");
});

TEST_P(Routes, EveryStageAnswersWithItsMeaningAndTheOriginalWords) {
  EXPECT_EQ(in_process_on(
                machine_,
                [&] {
                  const auto engine = engine_on(machine_, GetParam());
                  set_knob("fail_compile", "*:compiler:1:ANECCompile(/x) FAILED: err=(CompilationFailure)");
                  Status status = walk(*engine, doubling(1)).compile;
                  EXPECT_EQ(status.code(), Code::kCompileFailed);
                  EXPECT_TRUE(mentions(status, "CompilationFailure") &&
                              mentions(status, "com.apple.appleneuralengine.compiler 1"))
                      << status.message();
                  set_knob("fail_compile", "");
                  set_knob("fail_load", "*:ane:54:loadModel: no ANE resources (underlying=0x5)");
                  status = walk(*engine, doubling(2)).load;
                  EXPECT_EQ(status.code(), Code::kResourcesExhausted) << status.message();
                  EXPECT_TRUE(mentions(status, "no ANE resources"));
                  set_knob("fail_load", "");
                  set_knob(
                      "fail_evaluate",
                      "*:ane:8:ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9");
                  status = walk(*engine, doubling(3)).run;
                  EXPECT_EQ(status.code(), Code::kInternal) << status.message();
                  EXPECT_TRUE(mentions(status, "status=0x1d"));
                  set_knob("fail_evaluate", "");
                  const Step good = walk(*engine, doubling(4));
                  EXPECT_TRUE(good.compile.ok() && good.load.ok() && good.run.ok()) << "nothing stays broken";
                }),
            0);
}

TEST_P(Routes, NoReasonIsAReasonToo) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto engine = engine_on(machine_, GetParam());
                            set_knob("fail_compile", "*:nil");
                            EXPECT_TRUE(mentions(walk(*engine, doubling(1)).compile, "without a reason"));
                            set_knob("fail_compile", "");
                            set_knob("fail_load", "*:nil");
                            EXPECT_TRUE(mentions(walk(*engine, doubling(2)).load, "without a reason"));
                            set_knob("fail_load", "");
                            set_knob("fail_evaluate", "*:nil");
                            EXPECT_TRUE(mentions(walk(*engine, doubling(3)).run, "without a reason"));
                          }),
            0);
}

TEST_P(Routes, AnUnloadThatFailsIsAskedAgain) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto engine = engine_on(machine_, GetParam());
                            set_knob("fail_unload", "1:ane:3:timed out");
                            EXPECT_TRUE(walk(*engine, doubling(1)).run.ok());
                            EXPECT_EQ(counters().unloads, 2) << "asked once more";
                            EXPECT_EQ(counters().programs_alive, 0);
                            EXPECT_TRUE(walk(*engine, doubling(2)).run.ok());
                          }),
            0);
}

TEST_P(Routes, AnExceptionInAnyMethodIsAnErrorThatNamesIt) {
  for (size_t i = 0; i < apple::kFnCount; ++i) {
    const apple::ApiRow& row = apple::api_row(static_cast<apple::Fn>(i));
    const bool client = std::string(GetParam()) == "client";
    if (row.need != apple::Need::kBoth && (row.need == apple::Need::kClient) != client) continue;
    const Machine machine;
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              const auto engine = engine_on(machine, GetParam());
                              const Program program = doubling();
                              // An entry of this program, so that purge is called as well.
                              ASSERT_TRUE(engine->compile(engine->identify(program), program).ok());
                              set_knob("raise", std::string("1@") + row.selector);
                              const Step step = walk(*engine, program);
                              bool named = false;
                              for (const Status& status : {step.compile, step.load, step.run})
                                named |= !status.ok() && mentions(status, row.selector);
                              const bool only_logged =
                                  row.fn == apple::Fn::kUnload || row.fn == apple::Fn::kClientUnload;
                              EXPECT_TRUE(named || only_logged || counters().raised == 0)
                                  << row.selector << ": " << step.compile.message() << step.load.message()
                                  << step.run.message();
                              set_knob("raise", "");
                            }),
              0)
        << row.selector;
  }
}

TEST_P(Routes, AfterAFailedCompileTheNextWaitsTheRestOf15Seconds) {
  EXPECT_EQ(
      in_process_on(machine_,
                    [&] {
                      uint64_t now = 1000;
                      std::vector<uint64_t> slept;
                      AppleEngineOptions options = options_on(machine_, GetParam());
                      options.now_ms = [&] { return now; };
                      options.sleep_ms = [&](uint64_t ms) {
                        slept.push_back(ms);
                        now += ms;
                      };
                      const auto engine = *make_apple_engine(options);
                      EXPECT_TRUE(walk(*engine, doubling(1)).run.ok());
                      EXPECT_TRUE(slept.empty());
                      set_knob("fail_compile",
                               "1:compiler:1:err=(CompilationFailure);2:compiler:1:err=(CompilationFailure)");
                      EXPECT_FALSE(walk(*engine, doubling(2)).compile.ok());
                      now += 4000;
                      EXPECT_FALSE(walk(*engine, doubling(3)).compile.ok());
                      EXPECT_EQ(slept, (std::vector<uint64_t>{limits::kCompileBackoffMs - 4000}));
                      now += 15'000;
                      EXPECT_TRUE(walk(*engine, doubling(4)).run.ok()) << "long enough ago";
                      EXPECT_TRUE(walk(*engine, doubling(5)).run.ok());
                      EXPECT_EQ(slept.size(), 1u);
                    }),
      0);
}

TEST(Errors, TextThatIsNoMilIsACompileFailureWithTheCompilersVerdict) {
  for (const char* system : {"26", "27"}) {
    const Machine machine(system);
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              const auto engine = engine_on(machine);
                              const Program rubbish{"this is no program", {}, ""};
                              const Status status = engine->compile(engine->identify(rubbish), rubbish);
                              EXPECT_EQ(status.code(), Code::kCompileFailed);
                              EXPECT_TRUE(mentions(status, "InvalidMILProgram")) << status.message();
                            }),
              0);
  }
}

TEST(Errors, AProcessWithoutASignatureIsToldToSign) {
  Machine machine;
  machine.knobs["signing_id"] = "none";
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine);
                            const Status status = walk(*engine, doubling()).compile;
                            EXPECT_EQ(status.code(), Code::kEngineUnavailable) << status.message();
                            EXPECT_TRUE(mentions(status, "codesign")) << status.message();
                          }),
            0);
}

}  // namespace
}  // namespace anelane
