// The happy path of both routes: compile, load, evaluate, unload; what they leave behind.
#include <cmath>

#include "ane_direct/content_id.h"
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

}  // namespace
}  // namespace standin
