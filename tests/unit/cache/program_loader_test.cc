// Every way through load-before-compile, with an engine that answers from a script and writes down the calls.
#include "cache/program_loader.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace anelane {
namespace {

class NoProgram : public LoadedProgram {
 public:
  std::span<const Port> inputs() const override { return {}; }
  std::span<const Port> outputs() const override { return {}; }
  Status run(std::span<const Buffer>, std::span<const Buffer>) override { return {}; }
};

class ScriptedEngine : public Engine {
 public:
  EngineInfo info() const override { return {}; }
  std::string identify(const Program& program) const override { return "id:" + program.mil; }
  bool probe(const std::string& id) override {
    calls += "probe(" + id + ") ";
    return held.contains(id);
  }
  Status compile(const std::string& id, const Program&) override {
    calls += "compile ";
    if (compile_status.ok()) held.insert(id);
    return compile_status;
  }
  Result<std::unique_ptr<LoadedProgram>> load(const std::string&) override {
    calls += "load ";
    Status status = loads.empty() ? Status() : loads.front();
    if (!loads.empty()) loads.pop_front();
    if (!status.ok()) return status;
    return std::unique_ptr<LoadedProgram>(std::make_unique<NoProgram>());
  }
  Result<uint64_t> temp_space() override {
    calls += "space ";
    return space;
  }

  std::set<std::string> held;
  Status compile_status;
  std::deque<Status> loads;  // answers in order; then OK
  Result<uint64_t> space = uint64_t{1} << 40;
  std::string calls;
};

class ProgramLoader : public ::testing::Test {
 protected:
  Result<LayerLoad> load() { return load_program(engine_, {"a", {}, ""}, options_); }
  ScriptedEngine engine_;
  LoaderOptions options_;
};

TEST_F(ProgramLoader, L8_2_CachedLoadIsNotCompiled) {
  engine_.held = {"id:a"};
  const auto layer = load();
  ASSERT_TRUE(layer.ok());
  EXPECT_EQ(layer->origin, LoadOrigin::kCache);
  EXPECT_NE(layer->program, nullptr);
  EXPECT_GE(layer->ms, 0);
  EXPECT_EQ(engine_.calls, "probe(id:a) load ");
}

TEST_F(ProgramLoader, L8_2_WhatIsNotHeldIsCompiled) {
  const auto layer = load();
  ASSERT_TRUE(layer.ok());
  EXPECT_EQ(layer->origin, LoadOrigin::kCompiled);
  EXPECT_EQ(engine_.calls, "probe(id:a) space compile load ");
}

TEST_F(ProgramLoader, L8_2_AHeldCopyThatDoesNotLoadIsCompiledAnew) {
  engine_.held = {"id:a"};
  engine_.loads = {error(Code::kIo, "damaged")};
  const auto layer = load();
  ASSERT_TRUE(layer.ok());
  EXPECT_EQ(layer->origin, LoadOrigin::kCompiled);
  EXPECT_EQ(engine_.calls, "probe(id:a) load space compile load ");
}

TEST_F(ProgramLoader, L8_2_AResourceRefusalIsReturnedAtOnce) {
  engine_.held = {"id:a"};
  engine_.loads = {error(Code::kResourcesExhausted, "full")};
  EXPECT_EQ(load().status().code(), Code::kResourcesExhausted);
  EXPECT_EQ(engine_.calls, "probe(id:a) load ");
}

TEST_F(ProgramLoader, L8_2_RefusalsThatCompilingCannotCureAreReturnedToo) {
  for (const Code code : {Code::kEngineUnavailable, Code::kOutOfMemory}) {
    engine_ = ScriptedEngine();
    engine_.held = {"id:a"};
    engine_.loads = {error(code, "no")};
    EXPECT_EQ(load().status().code(), code);
    EXPECT_EQ(engine_.calls, "probe(id:a) load ");
  }
}

TEST_F(ProgramLoader, S112_LowTempSpaceStopsACompileButNeverACachedLoad) {
  engine_.space = uint64_t{100} << 20;
  const auto refused = load();
  EXPECT_EQ(refused.status().code(), Code::kTempSpaceLow);
  EXPECT_EQ(refused.status().detail().limit, uint64_t{512} << 20);
  EXPECT_NE(refused.status().message().find("100 MiB free"), std::string::npos);
  EXPECT_EQ(engine_.calls, "probe(id:a) space ");
  engine_.held = {"id:a"};
  EXPECT_TRUE(load().ok());
  options_.temp_space_min = 1;
  engine_.held.clear();
  EXPECT_TRUE(load().ok());
}

TEST_F(ProgramLoader, TempFolderThatCannotBeExaminedIsReported) {
  engine_.space = error(Code::kIo, "cannot examine the temp folder /x");
  EXPECT_EQ(load().status().code(), Code::kIo);
  EXPECT_EQ(engine_.calls, "probe(id:a) space ");
}

TEST_F(ProgramLoader, CompileFailureIsTheAnswer) {
  engine_.compile_status = error(Code::kCompileFailed, "bad op");
  const auto layer = load();
  EXPECT_EQ(layer.status().code(), Code::kCompileFailed);
  EXPECT_EQ(layer.status().message(), "bad op");
  EXPECT_EQ(engine_.calls, "probe(id:a) space compile ");
}

TEST_F(ProgramLoader, AFullEngineAfterACompileIsResourcesExhausted) {
  engine_.loads = {error(Code::kResourcesExhausted, "full")};
  EXPECT_EQ(load().status().code(), Code::kResourcesExhausted);
  EXPECT_EQ(engine_.calls, "probe(id:a) space compile load ");
  engine_.calls.clear();
  EXPECT_TRUE(load().ok());  // the next attempt finds it compiled
  EXPECT_EQ(engine_.calls, "probe(id:a) load ");
}

TEST_F(ProgramLoader, L8_3_ARungIsCachedWhenFirstAndLastLayerAre) {
  const Program first{"first", {}, ""}, last{"last", {}, ""};
  engine_.held = {"id:first"};
  EXPECT_FALSE(rung_is_cached(engine_, first, last));
  EXPECT_FALSE(rung_is_cached(engine_, last, first));
  EXPECT_EQ(engine_.calls, "probe(id:first) probe(id:last) probe(id:last) probe(id:first) ");
  engine_.held = {"id:first", "id:last"};
  engine_.calls.clear();
  EXPECT_TRUE(rung_is_cached(engine_, first, last));
  EXPECT_EQ(engine_.calls, "probe(id:first) probe(id:last) ");
  engine_.calls.clear();
  EXPECT_TRUE(rung_is_cached(engine_, first, first));
  EXPECT_EQ(engine_.calls, "probe(id:first) ");
}

}  // namespace
}  // namespace anelane
