// One model on one engine, with an engine that counts: admission is all or nothing, eviction unloads,
// inference runs the layers in order on the right buffers, and nothing that a frame names is believed.
#include "worker/served_model.h"

#include <gtest/gtest.h>
#include <regex.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "base/log.h"

namespace anelane::worker {
namespace {

constexpr uint32_t kWidth = 4;
constexpr uint64_t kPadded = 64;  // bytes of one port row of up to 32 halves

// What is live, and what happened.
struct Engineering {
  std::set<std::string> held;             // compiled, with the daemon
  std::map<std::string, Status> refuses;  // load or compile of these fails
  int live = 0;
  std::vector<std::string> deeds;
  std::vector<std::string> asked;  // probes
  uint64_t odd_port_bytes_at_layer = ~uint64_t{0};
};

class AddOne final : public LoadedProgram {
 public:
  AddOne(Engineering* books, std::string id, uint64_t in_bytes, uint64_t out_bytes)
      : books_(books), id_(std::move(id)) {
    in_ = {port("a00_x", in_bytes), port("a01_mask", kPadded)};
    out_ = {port("z00_y", out_bytes)};
    ++books_->live;
  }
  ~AddOne() override { --books_->live; }
  std::span<const Port> inputs() const override { return in_; }
  std::span<const Port> outputs() const override { return out_; }
  Status run(std::span<const Buffer> in, std::span<const Buffer> out) override {
    EXPECT_EQ(in.size(), 2u);
    EXPECT_EQ(out.size(), 1u);
    EXPECT_NE(in[0].data, out[0].data) << "a layer must not write what it reads";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(out[0].data) % 64, 0u);
    const Half* x = static_cast<const Half*>(in[0].data);
    const Half* mask = static_cast<const Half*>(in[1].data);
    Half* y = static_cast<Half*>(out[0].data);
    for (uint64_t i = 0; i < in[0].bytes / 2; ++i)
      y[i] = float_to_half(half_to_float(x[i]) + half_to_float(mask[0]));
    books_->deeds.push_back("run " + id_);
    return {};
  }

 private:
  static Port port(const char* name, uint64_t bytes) {
    return {name, Dtype::kF16, {1, kWidth, 1, 32}, {bytes, bytes / kWidth, bytes / kWidth, 2}, bytes};
  }
  Engineering* books_;
  std::string id_;
  std::vector<Port> in_, out_;
};

class CountingEngine final : public Engine {
 public:
  explicit CountingEngine(Engineering* books) : books_(books) {}
  EngineInfo info() const override { return {"counting", "", "", "", 0}; }
  std::string identify(const Program& program) const override { return program.mil; }
  bool probe(const std::string& id) override {
    books_->asked.push_back(id);
    return books_->held.count(id) != 0;
  }
  Status compile(const std::string& id, const Program&) override {
    books_->deeds.push_back("compile " + id);
    const auto refused = books_->refuses.find(id);
    if (refused != books_->refuses.end()) return refused->second;
    books_->held.insert(id);
    return {};
  }
  Result<std::unique_ptr<LoadedProgram>> load(const std::string& id) override {
    books_->deeds.push_back("load " + id);
    const auto refused = books_->refuses.find(id);
    if (refused != books_->refuses.end()) return refused->second;
    const uint64_t rung = std::stoull(id), layer = std::stoull(id.substr(id.find('/') + 1));
    const uint64_t bytes = kWidth * ((rung * 2 + 63) / 64 * 64);
    const bool odd = layer == books_->odd_port_bytes_at_layer;
    return std::unique_ptr<LoadedProgram>(new AddOne(books_, id, bytes, odd ? bytes + 64 : bytes));
  }
  Result<uint64_t> temp_space() override { return uint64_t{1} << 40; }

 private:
  Engineering* books_;
};

class TinyModel final : public Model {
 public:
  explicit TinyModel(uint32_t layers, std::vector<uint32_t> ladder = {32, 64}) {
    summary_.name = "tiny";
    summary_.dim = 3;
    summary_.width = kWidth;
    summary_.ceiling = ladder.back();
    summary_.layers = layers;
    summary_.vocab = 100;
    summary_.ladder = std::move(ladder);
  }
  const ModelSummary& summary() const override { return summary_; }
  Program layer_program(uint32_t rung, uint32_t layer) const override {
    return {std::to_string(rung) + "/" + std::to_string(layer), {}, {}};
  }
  Status check_tokens(std::span<const int32_t> ids) const override {
    for (const int32_t id : ids)
      if (id < 0 || id >= 100) return error(Code::kInvalidSequence, "id " + std::to_string(id));
    return {};
  }
  // x = the first id everywhere, mask = 1, so that every layer adds one.
  Status embed_tokens(std::span<const int32_t> ids, uint32_t rung, Half* x, Half* mask) const override {
    for (uint32_t i = 0; i < rung * kWidth; ++i) x[i] = float_to_half(static_cast<float>(ids[0]));
    for (uint32_t i = 0; i < 32; ++i) mask[i] = float_to_half(1.0f);
    return {};
  }
  Status finish(const Half* hidden, uint32_t, uint32_t tokens, std::span<float> out) const override {
    out[0] = half_to_float(hidden[0]);
    out[1] = half_to_float(hidden[kWidth * 32 - 1]);
    out[2] = static_cast<float>(tokens);
    return {};
  }

 private:
  ModelSummary summary_;
};

// POSIX extended, the whole line. (std::regex costs more to compile than the rest of this file, and gcc 12
// warns inside it under sanitizers.)
bool matches(const std::string& line, const std::string& pattern) {
  regex_t compiled;
  if (::regcomp(&compiled, ("^" + pattern + "$").c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool matched = ::regexec(&compiled, line.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return matched;
}

class ServedModelTest : public testing::TestWithParam<uint32_t> {
 protected:
  explicit ServedModelTest(uint32_t layers = 3)
      : model_(engine_, std::make_shared<TinyModel>(layers), LoaderOptions{0}, activity_) {
    arena_ = *Arena::create(1 << 16);
    set_log([](void* lines, int32_t,
               const char* line) { static_cast<std::vector<std::string>*>(lines)->push_back(line); },
            &lines_, LogLevel::kInfo);
  }
  ~ServedModelTest() override { set_log(nullptr, nullptr, LogLevel::kOff); }

  void put_ids(uint64_t offset, const std::vector<int32_t>& ids) {
    std::memcpy(arena_->data() + offset, ids.data(), ids.size() * 4);
  }
  float result(uint64_t offset, size_t index) const {
    float value = 0;
    std::memcpy(&value, arena_->data() + offset + index * 4, 4);
    return value;
  }

  Engineering books_;
  CountingEngine engine_{&books_};
  Activity activity_;
  ServedModel model_;
  std::shared_ptr<Arena> arena_;
  std::vector<std::string> lines_;
};

TEST_F(ServedModelTest, L8_3_RungIsCachedWhenFirstAndLastLayerAreHeld) {
  books_.held = {"32/0", "32/2", "64/0", "64/1"};
  const LoadedBody report = model_.report();
  EXPECT_EQ(report.cached_shapes, (std::vector<uint32_t>{32}));
  EXPECT_EQ(report.ladder, (std::vector<uint32_t>{32, 64}));
  EXPECT_EQ(report.layers, 3u);
  EXPECT_TRUE(books_.deeds.empty()) << "the check loads and compiles nothing";
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(matches(
      lines_[0],
      (R"(ane-direct compile cache check: model_ref=tiny cached=\[32\] checked=2 total_ms=[0-9]+\.[0-9])")))
      << lines_[0];
}

TEST_F(ServedModelTest, L8_2_AdmissionCompilesOnlyWhatIsNotHeld) {
  books_.held = {"32/1"};
  std::vector<std::string> steps;
  const Result<AdmittedBody> admitted = model_.admit(32, [&](const ProgressBody& step) {
    steps.push_back(std::to_string(step.layer) + "/" + std::to_string(step.layers) + "@" +
                    std::to_string(step.shape));
  });
  ASSERT_TRUE(admitted.ok()) << admitted.status().message();
  EXPECT_EQ(admitted->cache_hit_layers, 1u);
  EXPECT_EQ(admitted->compiled_layers, 2u);
  EXPECT_EQ(steps, (std::vector<std::string>{"1/3@32", "2/3@32", "3/3@32"}));
  EXPECT_EQ(books_.live, 3);
  EXPECT_TRUE(model_.is_resident(32));
}

TEST_F(ServedModelTest, L8_4_OneLinePerAdmissionWithExactlyTheseFields) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  ASSERT_TRUE(model_.admit(32, {}).ok());
  books_.refuses["64/1"] = error(Code::kResourcesExhausted, "full");
  EXPECT_FALSE(model_.admit(64, {}).ok());
  ASSERT_EQ(lines_.size(), 3u);
  const std::string start = R"(ane-direct shape admission: shape=)";
  EXPECT_TRUE(matches(
      lines_[0],
      (start + R"(32 layers_loaded=3 cache_hit=0 compiled=3 total_ms=[0-9]+\.[0-9] outcome=admitted)")))
      << lines_[0];
  EXPECT_TRUE(matches(
      lines_[1],
      (start + R"(32 layers_loaded=3 cache_hit=3 compiled=0 total_ms=0\.0 outcome=already_resident)")))
      << lines_[1];
  EXPECT_TRUE(matches(
      lines_[2],
      (start +
       R"(64 layers_loaded=1 cache_hit=0 compiled=1 total_ms=[0-9]+\.[0-9] outcome=resources_exhausted)")))
      << lines_[2];
}

TEST_F(ServedModelTest, L8_2_LayersLoadedBeforeAFailureAreUnloaded) {
  books_.refuses["64/2"] = error(Code::kCompileFailed, "bad op");
  const Status status = model_.admit(64, {}).status();
  EXPECT_EQ(status.code(), Code::kCompileFailed);
  EXPECT_EQ(status.detail().shape, 64u);
  EXPECT_EQ(status.detail().model, "tiny");
  EXPECT_NE(status.message().find("layer 2"), std::string::npos) << status.message();
  EXPECT_EQ(books_.live, 0);
  EXPECT_FALSE(model_.is_resident(64));
}

TEST_F(ServedModelTest, AdmittingWhatIsResidentDoesNothing) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  books_.deeds.clear();
  const Result<AdmittedBody> again = model_.admit(32, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->cache_hit_layers, 3u);
  EXPECT_EQ(again->compiled_layers, 0u);
  EXPECT_TRUE(books_.deeds.empty());
  EXPECT_EQ(books_.live, 3);
}

TEST_F(ServedModelTest, ShapeOffTheLadderIsUnknown) {
  const Status status = model_.admit(48, {}).status();
  EXPECT_EQ(status.code(), Code::kShapeUnknown);
  EXPECT_TRUE(books_.deeds.empty());
}

TEST_F(ServedModelTest, S013_BeyondTheModelsLimitIsRefusedBeforeAnyWork) {
  ServedModel limited(engine_, std::make_shared<TinyModel>(2, std::vector<uint32_t>{32, 64, 96, 128, 160}),
                      LoaderOptions{0}, activity_, 4);
  for (const uint32_t shape : {32u, 64u, 96u, 128u}) ASSERT_TRUE(limited.admit(shape, {}).ok());
  books_.deeds.clear();
  books_.asked.clear();
  const Status refused = limited.admit(160, {}).status();
  EXPECT_EQ(refused.code(), Code::kResourcesExhausted);
  EXPECT_EQ(refused.detail().limit, 4u);
  EXPECT_EQ(refused.detail().shape, 160u);
  EXPECT_TRUE(books_.deeds.empty());
  EXPECT_TRUE(books_.asked.empty());
  EXPECT_EQ(books_.live, 8);
  for (const uint32_t shape : {32u, 64u, 96u, 128u}) EXPECT_TRUE(limited.admit(shape, {}).ok()) << shape;
  limited.evict(64);
  EXPECT_TRUE(limited.admit(160, {}).ok()) << "an eviction makes room";
  EXPECT_FALSE(limited.is_resident(64));
}

TEST_F(ServedModelTest, S260_TheCheckAsksForTheFirstAndTheLastLayerOfEachRung) {
  const std::vector<uint32_t> ladder{128, 256, 512, 1024, 2048, 4096, 8192};
  ServedModel wide(engine_, std::make_shared<TinyModel>(3, ladder), LoaderOptions{0}, activity_);
  books_.held = {"128/0",  "128/1",  "128/2",  "256/0",  "512/2",
                 "1024/1", "2048/0", "2048/2", "8192/0", "8192/1"};
  EXPECT_EQ(wide.report().cached_shapes, (std::vector<uint32_t>{128, 2048}));
  std::vector<std::string> expected;
  for (const uint32_t rung : ladder)
    for (const char* layer : {"/0", "/2"}) expected.push_back(std::to_string(rung) + layer);
  EXPECT_EQ(expected.size(), 14u);
  EXPECT_EQ(books_.asked, expected);
  EXPECT_TRUE(books_.deeds.empty());
}

TEST_F(ServedModelTest, S260_ALayerThatIsFirstAndLastIsAskedForOnce) {
  ServedModel flat(engine_, std::make_shared<TinyModel>(1), LoaderOptions{0}, activity_);
  books_.held = {"64/0"};
  EXPECT_EQ(flat.report().cached_shapes, (std::vector<uint32_t>{64}));
  EXPECT_EQ(books_.asked, (std::vector<std::string>{"32/0", "64/0"}));
}

TEST_F(ServedModelTest, S263_WhatTheLineOfAnAdmissionSaysAddsUp) {
  ServedModel wide(engine_, std::make_shared<TinyModel>(7, std::vector<uint32_t>{32, 64, 96}),
                   LoaderOptions{0}, activity_);
  books_.held = {"32/0", "32/3", "64/0", "64/1", "64/2", "64/3", "64/4", "64/5", "64/6"};
  for (const uint32_t shape : {32u, 64u, 96u}) ASSERT_TRUE(wide.admit(shape, {}).ok());
  ASSERT_EQ(lines_.size(), 3u);
  const int hits[] = {2, 7, 0};
  for (size_t i = 0; i < 3; ++i) {
    unsigned shape = 0, loaded = 0, hit = 0, compiled = 0;
    double ms = -1;
    char outcome[32] = "";
    ASSERT_EQ(std::sscanf(lines_[i].c_str(),
                          "ane-direct shape admission: shape=%u layers_loaded=%u cache_hit=%u compiled=%u "
                          "total_ms=%lf outcome=%31s",
                          &shape, &loaded, &hit, &compiled, &ms, outcome),
              6)
        << lines_[i];
    EXPECT_EQ(shape, 32 * (i + 1));
    EXPECT_EQ(loaded, 7u);
    EXPECT_EQ(hit, static_cast<unsigned>(hits[i]));
    EXPECT_EQ(hit + compiled, loaded);
    EXPECT_GE(ms, 0);
    EXPECT_STREQ(outcome, "admitted");
  }
}

TEST_F(ServedModelTest, EvictionUnloadsAndIsIdempotent) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  ASSERT_TRUE(model_.admit(64, {}).ok());
  model_.evict(32);
  EXPECT_EQ(books_.live, 3);
  EXPECT_FALSE(model_.is_resident(32));
  EXPECT_TRUE(model_.is_resident(64));
  model_.evict(32);
  EXPECT_EQ(books_.live, 3);
}

TEST_F(ServedModelTest, StopRequestEndsAnAdmissionBetweenLayers) {
  const Status status = model_.admit(32, [&](const ProgressBody&) { activity_.stopping = true; }).status();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(books_.live, 0);
  EXPECT_EQ(books_.deeds, (std::vector<std::string>{"compile 32/0", "load 32/0"}));
}

TEST_F(ServedModelTest, LayersThatDoNotFitEachOtherAreRefused) {
  books_.odd_port_bytes_at_layer = 1;
  const Status status = model_.admit(32, {}).status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("layer 1"), std::string::npos) << status.message();
  EXPECT_EQ(books_.live, 0);
}

TEST_F(ServedModelTest, S092_InferenceOnAShapeThatIsNotResident) {
  const Status embed = model_.embed({32, 0, 4096, {1}}, *arena_).status();
  EXPECT_EQ(embed.code(), Code::kInternal);
  EXPECT_NE(embed.message().find("shape_not_admitted"), std::string::npos);
  const Status run = model_.run({32, {0, 1024}, {2048}}, *arena_);
  EXPECT_NE(run.message().find("shape_not_admitted"), std::string::npos);
}

TEST_F(ServedModelTest, EmbedRunsEverySequenceThroughEveryLayer) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  books_.deeds.clear();
  put_ids(64, {7, 7, 7, 50, 9, 9});
  const Result<EmbeddedBody> done = model_.embed({32, 64, 4096, {3, 1, 2}}, *arena_);
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->count, 3u);
  EXPECT_EQ(done->dim, 3u);
  EXPECT_EQ(books_.deeds,
            (std::vector<std::string>{"run 32/0", "run 32/1", "run 32/2", "run 32/0", "run 32/1", "run 32/2",
                                      "run 32/0", "run 32/1", "run 32/2"}));
  const float expected[] = {10, 10, 3, 53, 53, 1, 12, 12, 2};
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(result(4096, i), expected[i]) << i;
}

TEST_F(ServedModelTest, EmbedChecksEverythingBeforeAnyLayerRuns) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  books_.deeds.clear();
  const uint64_t size = arena_->size();
  put_ids(0, {1, 2, 3});
  const std::vector<std::pair<const char*, EmbedBody>> bad = {
      {"no tokens", {32, 0, 4096, {1, 0}}},
      {"more tokens than the shape", {32, 0, 4096, {33}}},
      {"ids beyond the end", {32, size - 4, 4096, {2}}},
      {"ids far beyond the end", {32, ~uint64_t{3}, 4096, {1}}},
      {"ids not aligned", {32, 2, 4096, {1}}},
      {"result beyond the end", {32, 0, size - 8, {1}}},
      {"result wraps around", {32, 0, ~uint64_t{3}, {1}}},
      {"result not aligned", {32, 0, 4098, {1}}},
      {"result over the ids", {32, 0, 8, {3}}},
  };
  for (const auto& [what, body] : bad) {
    const Status status = model_.embed(body, *arena_).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << what;
  }
  put_ids(0, {1, 2, 100});
  const Status vocabulary = model_.embed({32, 0, 4096, {2, 1}}, *arena_).status();
  EXPECT_EQ(vocabulary.code(), Code::kInvalidSequence);
  EXPECT_EQ(vocabulary.detail().item, 1);
  EXPECT_TRUE(books_.deeds.empty());
  EXPECT_TRUE(model_.embed({32, 0, size - 12, {1}}, *arena_).ok()) << "the last place that fits";
  EXPECT_TRUE(model_.embed({32, 0, 4096, {}}, *arena_).ok()) << "nothing asked, nothing done";
}

TEST_F(ServedModelTest, RunChainsTheLayersFromPortToPort) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  Half* x = reinterpret_cast<Half*>(arena_->data());
  for (int i = 0; i < 128; ++i) x[i] = float_to_half(static_cast<float>(i));
  Half* mask = reinterpret_cast<Half*>(arena_->data() + 256);
  mask[0] = float_to_half(2.0f);
  ASSERT_TRUE(model_.run({32, {0, 256}, {320}}, *arena_).ok());
  const Half* y = reinterpret_cast<const Half*>(arena_->data() + 320);
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(half_to_float(y[i]), static_cast<float>(i + 6));
    EXPECT_EQ(half_to_float(x[i]), static_cast<float>(i)) << "the input stays as it was";
  }
}

TEST_F(ServedModelTest, RunChecksEveryOffset) {
  ASSERT_TRUE(model_.admit(32, {}).ok());
  books_.deeds.clear();
  const uint64_t size = arena_->size();
  const std::vector<std::pair<const char*, RunBody>> bad = {
      {"too few inputs", {32, {0}, {320}}},
      {"too many inputs", {32, {0, 256, 512}, {1024}}},
      {"no output", {32, {0, 256}, {}}},
      {"input beyond the end", {32, {size - 192, 256}, {320}}},
      {"input wraps around", {32, {~uint64_t{63}, 256}, {320}}},
      {"input not aligned to 64", {32, {32, 512}, {1024}}},
      {"output beyond the end", {32, {0, 256}, {size - 64}}},
      {"output over the activation", {32, {0, 256}, {192}}},
      {"output over the mask", {32, {0, 256}, {256}}},
  };
  for (const auto& [what, body] : bad)
    EXPECT_EQ(model_.run(body, *arena_).code(), Code::kInvalidArgument) << what;
  EXPECT_TRUE(books_.deeds.empty());
}

// With one, two and four layers the buffers end up in other places than with three.
class ServedModelOfLayers : public ServedModelTest {
 protected:
  ServedModelOfLayers() : ServedModelTest(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Layers, ServedModelOfLayers, testing::Values(1, 2, 4, 5));

TEST_P(ServedModelOfLayers, EmbedAndRunGiveTheLastLayersOutput) {
  ASSERT_TRUE(model_.admit(64, {}).ok());
  put_ids(0, {5, 8});
  ASSERT_TRUE(model_.embed({64, 0, 4096, {1, 1}}, *arena_).ok());
  EXPECT_EQ(result(4096, 0), 5.0f + static_cast<float>(GetParam()));
  EXPECT_EQ(result(4096, 3), 8.0f + static_cast<float>(GetParam()));
  reinterpret_cast<Half*>(arena_->data() + 8192)[0] = float_to_half(1.0f);
  reinterpret_cast<Half*>(arena_->data() + 12288)[0] = float_to_half(1.0f);
  ASSERT_TRUE(model_.run({64, {8192, 12288}, {16384}}, *arena_).ok());
  EXPECT_EQ(half_to_float(reinterpret_cast<Half*>(arena_->data() + 16384)[0]),
            1.0f + static_cast<float>(GetParam()));
}

}  // namespace
}  // namespace anelane::worker
