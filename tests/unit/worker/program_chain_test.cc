// Program models in the worker: the wiring, run by run, against the engine called by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "ane_direct/soft/soft_engine.h"
#include "base/file.h"
#include "support/tiny_checkpoint.h"
#include "worker/served_model.h"

namespace anelane::worker {
namespace {

namespace fs = std::filesystem;

using Halves = std::vector<Half>;

Halves some_values(size_t count, uint32_t seed) {
  Halves values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float_to_half(static_cast<float>((i * 2654435761u + seed * 97u) % 2048) / 512.0f - 2.0f);
  return values;
}

class ProgramChain : public testing::Test {
 protected:
  ProgramChain() {
    fs::copy(ANELANE_SOURCE_DIR "/examples/programs/residual", folder_.file("model"));
    SoftEngineOptions options;
    options.cache_dir = folder_.file("cache");
    options.temp_dir = folder_.path();
    options.signing_identifier = "program-chain-test";
    options.threads = 1;
    engine_ = *make_soft_engine(options);
  }
  std::shared_ptr<const Model> open() {
    auto model = open_model(folder_.file("model"), {});
    EXPECT_TRUE(model.ok()) << model.status().message();
    return *model;
  }
  std::unique_ptr<LoadedProgram> load(const Model& model, uint32_t rung, uint32_t layer) {
    const Program program = model.layer_program(rung, layer);
    const std::string id = engine_->identify(program);
    EXPECT_TRUE(engine_->compile(id, program).ok());
    return *engine_->load(id);
  }
  static Halves call(LoadedProgram& program, const std::vector<Halves*>& in, size_t output = 0) {
    std::vector<Halves> results;
    for (const Port& port : program.outputs()) results.emplace_back(port.bytes / 2);
    std::vector<Buffer> from, to;
    for (Halves* values : in) from.push_back({values->data(), 2 * values->size()});
    for (Halves& values : results) to.push_back({values.data(), 2 * values.size()});
    const Status status = program.run(from, to);
    EXPECT_TRUE(status.ok()) << status.message();
    return results[output];
  }

  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
  Activity activity_;
};

TEST_F(ProgramChain, ARunIsBitForBitWhatTheEngineGivesByHand) {
  const std::shared_ptr<const Model> model = open();
  ServedModel served(*engine_, model, LoaderOptions{0}, activity_);
  ASSERT_TRUE(served.check_programs().ok());
  const std::shared_ptr<Arena> arena = *Arena::create(1 << 18);
  for (const uint32_t rung : {64u, 128u}) {
    const Result<AdmittedBody> admitted = served.admit(rung, {});
    ASSERT_TRUE(admitted.ok()) << admitted.status().message();
    EXPECT_EQ(*admitted->compiled_layers + *admitted->cache_hit_layers, 3u);
    const auto up = load(*model, rung, 0), activate = load(*model, rung, 1), down = load(*model, rung, 2);
    for (uint32_t seed = 0; seed < 3; ++seed) {
      Halves x = some_values(32 * rung, seed);
      Halves h = call(*up, {&x}), g = call(*activate, {&h});
      const Halves total = call(*down, {&g, &h, &x}, 0), y = call(*down, {&g, &h, &x}, 1);
      std::memcpy(arena->data() + 65536, x.data(), 2 * x.size());
      ASSERT_TRUE(served.run({rung, {65536}, {0, 131072}}, *arena).ok());
      EXPECT_EQ(std::memcmp(arena->data(), total.data(), 2 * total.size()), 0) << rung;
      EXPECT_EQ(std::memcmp(arena->data() + 131072, y.data(), 2 * y.size()), 0) << rung;
      EXPECT_EQ(std::memcmp(arena->data() + 65536, x.data(), 2 * x.size()), 0) << "the input stays as it was";
    }
  }
  served.evict(64);
  EXPECT_FALSE(served.is_resident(64));
}

TEST_F(ProgramChain, OffsetsAndCountsAreChecked) {
  ServedModel served(*engine_, open(), LoaderOptions{0}, activity_);
  const std::shared_ptr<Arena> arena = *Arena::create(1 << 16);
  ASSERT_TRUE(served.admit(64, {}).ok());
  const uint64_t size = arena->size();
  for (const RunBody& body :
       {RunBody{64, {0}, {8192}}, RunBody{64, {0, 64}, {8192, 16384}}, RunBody{64, {size}, {8192, 16384}},
        RunBody{64, {0}, {8192, size - 64}}, RunBody{64, {0}, {64, 16384}}, RunBody{64, {1}, {8192, 16384}}})
    EXPECT_EQ(served.run(body, *arena).code(), Code::kInvalidArgument);
  EXPECT_EQ(served.embed({64, 0, 4096, {1}}, *arena).status().code(), Code::kUnsupported);
  EXPECT_TRUE(served.run({64, {0}, {8192, 16384}}, *arena).ok());
}

TEST_F(ProgramChain, WhatTheCompilerRefusesIsKnownBeforeAnythingIsCompiled) {
  const auto refusal = [&](const std::string& name, const std::string& from, const std::string& to) {
    const std::string path = folder_.file("model/" + name), whole = *read_file(path, 1u << 20);
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path) << text;
    const Status status = ServedModel(*engine_, open(), LoaderOptions{0}, activity_).check_programs();
    std::ofstream(path) << whole;
    return status;
  };
  const Status op = refusal("activate_128.mil", "relu(x = h)", "swoosh(x = h)");
  EXPECT_EQ(op.code(), Code::kCompileFailed);
  EXPECT_EQ(
      op.message(),
      "shape 128, layer 1 (activate_128.mil): CompilationFailure: line 6, column 48: operation \"swoosh\" "
      "is not supported by this engine");
}

TEST_F(ProgramChain, ADeclarationThatIsNotTrueIsRefused) {
  // A wiring that is sound as declared: only the compiler can know better.
  for (const char* name : {"activate_64.mil", "down_64.mil", "up_64.mil"}) {
    std::string text = *read_file(folder_.file(std::string("model/") + name), 1u << 20);
    for (size_t at = 0; (at = text.find("[1, 64, 1, 64]", at)) != std::string::npos;)
      text.replace(at, 14, "[1, 96, 1, 64]");
    std::ofstream(folder_.file(std::string("model/") + name)) << text;
  }
  const Status status = ServedModel(*engine_, open(), LoaderOptions{0}, activity_).check_programs();
  EXPECT_EQ(status.code(), Code::kCompileFailed);
  EXPECT_NE(status.message().find("layer 0 (up_64.mil): InvalidMILProgram: line 11"), std::string::npos)
      << status.message();
}

TEST_F(ProgramChain, AWeightFileThatIsNoneIsRefused) {
  for (const std::string& bytes : {std::string("short"), std::string(4096, '\0')}) {
    std::ofstream(folder_.file("model/up.bin")) << bytes;
    const Status status = ServedModel(*engine_, open(), LoaderOptions{0}, activity_).check_programs();
    EXPECT_EQ(status.code(), Code::kCompileFailed);
    EXPECT_NE(status.message().find("layer 0 (up_64.mil)"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace anelane::worker
