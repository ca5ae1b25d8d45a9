// The happy path of both routes: compile, load, evaluate, unload; what they leave behind.
#include <cmath>

#include <cstring>

#include "ane_direct/content_id.h"
#include "ane_direct/soft/soft_engine.h"
#include "fixture.h"

namespace standin {
namespace {

using anelane::float_to_half;
using anelane::half_to_float;

class Routes : public StandinTest {};

// Evaluates `doubling` of width 40 (rows of 80 bytes at 128) through `model`.
template <class Model>
void expect_doubles(Model* model) {
  const Surface in(49152), out(49152);
  for (size_t c = 0; c < 32; ++c)
    for (size_t i = 0; i < 40; ++i) in.row(c, 128)[i] = float_to_half(static_cast<float>(c + i));
  id request = request_of({in.object()}, {0}, {out.object()}, {0});
  EXPECT_TRUE(model->evaluate(request)) << model->error.all();
  for (size_t c = 0; c < 32; ++c)
    for (size_t i = 0; i < 40; ++i)
      ASSERT_EQ(half_to_float(out.row(c, 128)[i]), 2 * static_cast<float>(c + i) + 1) << c << " " << i;
  for (size_t i = 80; i < 128; ++i) ASSERT_EQ(out.bytes()[i], STANDIN_OUTPUT_PADDING);
  msg<void>(request, "release");
}

TEST_F(Routes, InMemoryFromCompileToUnload) {
  {
    InMemory model(doubling());
    EXPECT_EQ(model.hex(), anelane::content_id(doubling()));
    EXPECT_EQ(model.folder(), temp() + "/" + model.hex());
    EXPECT_FALSE(model.is_cached());
    model.stage();
    ASSERT_TRUE(model.compile()) << model.error.all();
    EXPECT_TRUE(model.is_cached());
    ASSERT_TRUE(model.load()) << model.error.all();
    EXPECT_EQ(standin_pool_in_use(), 1u);
    expect_doubles(&model);
    ASSERT_TRUE(model.unload()) << model.error.all();
    EXPECT_EQ(standin_pool_in_use(), 0u);
  }
  const StandinCounters now = since();
  EXPECT_EQ(now.in_memory_models_alive, 0);
  EXPECT_EQ(now.client_models_alive, 0);
  EXPECT_EQ(now.descriptors_alive, 0);
  EXPECT_EQ(now.surfaces_alive, 0);
  EXPECT_EQ(now.surface_objects_alive, 0);
  EXPECT_EQ(now.requests_alive, 0);
  EXPECT_EQ(now.programs_alive, 0);
  EXPECT_EQ(now.temporaries_alive, 0);
  EXPECT_EQ(now.unloaded_by_nobody, 0);
  EXPECT_EQ(now.dirty_padding_rows, 0);
}

TEST_F(Routes, ClientOverAFolderOfItsOwn) {
  const std::string folder = root() + "/mine";
  stage(folder, doubling());
  Client model(folder, "key");
  EXPECT_FALSE(model.is_cached());
  ASSERT_TRUE(model.compile()) << model.error.all();
  EXPECT_TRUE(model.is_cached());
  ASSERT_TRUE(model.load()) << model.error.all();
  expect_doubles(&model);
  ASSERT_TRUE(model.unload()) << model.error.all();
  EXPECT_TRUE(exists(folder + "/model.mil"));
  ASSERT_TRUE(model.load()) << "again, from the vault: " << model.error.all();
  expect_doubles(&model);
  ASSERT_TRUE(model.unload());
  EXPECT_EQ(since().compiles, 1);
}

// Most of what an encoder layer does, over [1, 64, 1, 40].
anelane::Program layer(anelane::MilDialect dialect) {
  std::vector<float> weights(64 * 64);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(static_cast<int>(i * 7919 % 257) - 128) / 512;
  anelane::MilWriter mil(dialect);
  const auto x = mil.input("x", {1, 64, 1, 40});
  const auto w = mil.weight({64, 64, 1, 1}, weights);
  const auto heads = mil.reshape(mil.conv(x, w), {1, 4, 16, 40});
  const auto scores = mil.softmax(mil.mul(mil.matmul(heads, heads, true, false), 0.25f), -1);
  const auto mixed = mil.reshape(mil.matmul(heads, scores, false, true), {1, 64, 1, 40});
  const auto centred = mil.sub(mil.add(mixed, x), mil.reduce_mean(mixed, {1}));
  mil.output("y", mil.gelu(mil.conv(centred, w), "EXACT"));
  return *std::move(mil).finish();
}

std::vector<uint8_t> through_soft(const anelane::Program& program, std::vector<uint8_t> in,
                                  const std::string& cache) {
  anelane::SoftEngineOptions options;
  options.cache_dir = cache;
  options.signing_identifier = "soft";
  const auto engine = anelane::make_soft_engine(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  const std::string hex = anelane::content_id(program);
  EXPECT_TRUE((*engine)->compile(hex, program).ok());
  const auto loaded = (*engine)->load(hex);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<uint8_t> out((*loaded)->outputs()[0].bytes);
  const anelane::Buffer from{in.data(), in.size()}, to{out.data(), out.size()};
  EXPECT_TRUE((*loaded)->run({&from, 1}, {&to, 1}).ok());
  return out;
}

TEST_F(Routes, BothGiveTheSoftEnginesBitsInBothDialectsAndSystems) {
  for (const char* system : {"27", "26"}) {
    for (const anelane::MilDialect dialect : {anelane::MilDialect::kIos18, anelane::MilDialect::kIos16}) {
      if (dialect == anelane::MilDialect::kIos16 && std::string(system) == "27") continue;  // refused there
      set("system", system);
      const anelane::Program program = layer(dialect);
      const Surface in(49152), by_memory(49152), by_client(49152);
      for (size_t c = 0; c < 64; ++c)
        for (size_t i = 0; i < 40; ++i)
          in.row(c, 128)[i] =
              float_to_half(static_cast<float>(static_cast<int>((c * 40 + i) * 104729 % 511) - 255) / 64);
      const std::vector<uint8_t> wanted =
          through_soft(program, {in.bytes(), in.bytes() + 64 * 128}, root() + "/soft");

      InMemory model(program);
      model.stage();
      ASSERT_TRUE(model.compile() && model.load()) << model.error.all();
      stage(root() + "/mine", program);
      Client client(root() + "/mine", model.hex());
      ASSERT_TRUE(client.compile() && client.load()) << client.error.all();
      id to_memory = request_of({in.object()}, {0}, {by_memory.object()}, {0});
      id to_client = request_of({in.object()}, {0}, {by_client.object()}, {0});
      EXPECT_TRUE(model.evaluate(to_memory)) << model.error.all();
      EXPECT_TRUE(client.evaluate(to_client)) << client.error.all();
      for (size_t c = 0; c < 64; ++c) {
        ASSERT_EQ(std::memcmp(by_memory.row(c, 128), wanted.data() + c * 128, 80), 0) << c;
        ASSERT_EQ(std::memcmp(by_client.row(c, 128), wanted.data() + c * 128, 80), 0) << c;
      }
      msg<void>(to_memory, "release");
      msg<void>(to_client, "release");
      EXPECT_TRUE(model.unload() && client.unload());
    }
  }
}

}  // namespace
}  // namespace standin
