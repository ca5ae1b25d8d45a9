// Whole models on the software engine and its vault: what is compiled again, and what is not, when the cache
// or the model has changed behind us.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ane_direct/content_id.h"
#include "ane_direct/soft/soft_engine.h"
#include "support/tiny_checkpoint.h"
#include "worker/served_model.h"

namespace anelane::worker {
namespace {

namespace fs = std::filesystem;

struct Counts {
  uint32_t hits = 0, compiled = 0;
  bool operator==(const Counts&) const = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.hits << " from the cache, " << counts.compiled << " compiled";
}

class LayerCache : public testing::Test {
 protected:
  LayerCache() { write(TinyCheckpoint({.layers = 3})); }
  void write(const TinyCheckpoint& checkpoint) { EXPECT_TRUE(checkpoint.write(folder_.file("model")).ok()); }

  // A new worker admits the shape, as after a restart; its vector of a fixed sequence goes to vector_.
  Counts admit() {
    SoftEngineOptions options;
    options.cache_dir = folder_.file("cache");
    options.temp_dir = folder_.path();
    options.signing_identifier = signer_;
    options.os_build = build_;
    options.threads = 1;
    auto engine = make_soft_engine(options);
    auto model = open_model(folder_.file("model"), {});
    EXPECT_TRUE(engine.ok() && model.ok());
    Activity activity;
    ServedModel served(**engine, *model, LoaderOptions{0}, activity);
    const Result<AdmittedBody> admitted = served.admit(128, {});
    EXPECT_TRUE(admitted.ok()) << admitted.status().message();
    if (!admitted.ok()) return {};
    const std::shared_ptr<Arena> arena = *Arena::create(1 << 16);
    auto* ids = reinterpret_cast<int32_t*>(arena->data());
    for (int32_t i = 0; i < 5; ++i) ids[i] = 10 + i;
    EXPECT_TRUE(served.embed({128, 0, 4096, {5}}, *arena).ok());
    const auto* floats = reinterpret_cast<const float*>(arena->data() + 4096);
    vector_.assign(floats, floats + (*model)->summary().dim);
    return {*admitted->cache_hit_layers, *admitted->compiled_layers};
  }

  fs::path entry(uint32_t layer) const {
    auto model = open_model(folder_.file("model"), {});
    return fs::path(folder_.file("cache")) / build_ / "InMemoryModelCache" / signer_ /
           content_id((*model)->layer_program(128, layer));
  }

  TempFolder folder_;
  std::string signer_ = "anelane-worker", build_ = "test-1";
  std::vector<float> vector_;
};

TEST_F(LayerCache, ARestartCompilesNothing) {
  EXPECT_EQ(admit(), (Counts{0, 3}));
  const std::vector<float> first = vector_;
  EXPECT_EQ(admit(), (Counts{3, 0}));
  EXPECT_EQ(vector_, first);
}

TEST_F(LayerCache, AnUnusableEntryCostsThatLayerAlone) {
  admit();
  const std::vector<float> first = vector_;
  const auto flip_a_bit = [&] {
    const fs::path file = entry(1) / "model.plan";
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(fs::file_size(file) / 2));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    stream.put(static_cast<char>(byte ^ 1));
  };
  const std::vector<std::pair<const char*, std::function<void()>>> ways = {
      {"corrupt", flip_a_bit},
      {"empty", [&] { fs::resize_file(entry(1) / "model.plan", 0); }},
      {"cut", [&] { fs::resize_file(entry(1) / "model.plan", fs::file_size(entry(1) / "model.plan") - 1); }},
      {"vanished", [&] { fs::remove_all(entry(1)); }},
      {"without its file", [&] { fs::remove(entry(1) / "model.plan"); }},
      {"another layer's",
       [&] {
         fs::copy_file(entry(2) / "model.plan", entry(1) / "model.plan",
                       fs::copy_options::overwrite_existing);
       }},
  };
  for (const auto& [name, damage] : ways) {
    damage();
    EXPECT_EQ(admit(), (Counts{2, 1})) << name;
    EXPECT_EQ(vector_, first) << name;
    EXPECT_EQ(admit(), (Counts{3, 0})) << name;
  }
}

TEST_F(LayerCache, OneBitOfOneWeightCompilesThatLayerAgain) {
  admit();
  TinyCheckpoint changed({.layers = 3});
  TinyTensor* weight = changed.find("encoder.layer.2.output.dense.weight");
  ASSERT_NE(weight, nullptr);
  weight->bytes[2] ^= 0x20;  // the last bit that an fp16 of this float keeps
  write(changed);
  const std::vector<float> before = vector_;
  EXPECT_EQ(admit(), (Counts{2, 1}));
  EXPECT_EQ(admit(), (Counts{3, 0}));
  write(TinyCheckpoint({.layers = 3}));
  EXPECT_EQ(admit(), (Counts{3, 0}));  // the old one is still held
  EXPECT_EQ(vector_, before);
}

TEST_F(LayerCache, AnotherSignerOrSystemBuildCompilesEverything) {
  admit();
  signer_ = "python3";
  EXPECT_EQ(admit(), (Counts{0, 3}));
  signer_ = "anelane-worker";
  EXPECT_EQ(admit(), (Counts{3, 0}));
  build_ = "test-2";
  EXPECT_EQ(admit(), (Counts{0, 3}));
  build_ = "test-1";  // the update dropped the old vault
  EXPECT_EQ(admit(), (Counts{0, 3}));
}

}  // namespace
}  // namespace anelane::worker
