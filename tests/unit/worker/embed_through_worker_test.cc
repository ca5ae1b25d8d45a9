// The whole way with a real model on the real soft engine: process and thread must give the very bits that
// the same parts give without any worker between.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "ane_direct/soft/soft_engine.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/program_loader.h"
#include "models/model.h"
#include "support/tiny_checkpoint.h"
#include "unit/worker/worker_test_support.h"
#include "worker/served_model.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

using namespace test;
constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kShape = 128;
const char* const kReal = ANELANE_BUILD_DIR "/anelane-worker";

const std::vector<std::vector<int32_t>>& sequences() {
  static const std::vector<std::vector<int32_t>> all = {
      {1, 2, 3}, {5}, std::vector<int32_t>(128, 7), {9, 8, 7, 6, 5, 4, 3, 2, 1}};
  return all;
}

std::set<std::string> own_threads() {
  std::set<std::string> ids;
  if (DIR* dir = ::opendir("/proc/self/task")) {
    while (const dirent* entry = ::readdir(dir))
      if (entry->d_name[0] != '.') ids.insert(entry->d_name);
    ::closedir(dir);
  }
  return ids;
}

class ThroughWorker : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_tiny_checkpoint(folder_.file("model")).ok());
    options_.thread_mode = GetParam();
    options_.executable = kReal;
    options_.arena = *Arena::create(1 << 20);
    options_.init.engine = "soft";
    options_.init.cache_dir = folder_.file("cache");
    options_.init.temp_dir = folder_.path();
    options_.init.soft_threads = 1;
    std::thread([] {}).join();  // the first thread brings one of ThreadSanitizer's own
    threads_before_ = own_threads();
    launch();
  }
  void launch() {
    Result<std::unique_ptr<WorkerHandle>> launched = launch_worker(options_);
    ASSERT_TRUE(launched.ok()) << launched.status().message();
    worker_ = *std::move(launched);
    reader_ = FrameReader();
  }
  // The reply, after any number of progress frames.
  Frame ask(FrameType type, const std::string& body) {
    EXPECT_TRUE(send_frame(worker_->stream_fd(), {type, ++request_, body}, now_ns() + 5000 * kMs).ok());
    progress_ = 0;
    for (;;) {
      Result<Frame> frame = receive_frame(worker_->stream_fd(), &reader_, now_ns() + 120'000 * kMs);
      EXPECT_TRUE(frame.ok()) << frame.status().message();
      if (!frame.ok()) return {};
      EXPECT_EQ(frame->request, request_);
      if (frame->type == FrameType::kFailed) ADD_FAILURE() << frame->body;
      if (frame->type != FrameType::kProgress) return *frame;
      ++progress_;
    }
  }
  LoadedBody load() {
    return *parse_loaded(ask(FrameType::kLoad, to_json(LoadBody{folder_.file("model"), "", {}}).dump()).body);
  }
  AdmittedBody admit() { return *parse_admitted(ask(FrameType::kAdmit, shape_json(kShape).dump()).body); }
  std::vector<float> embed(uint32_t dim) {
    EmbedBody body;
    body.shape = kShape;
    body.out_offset = 65536;
    uint8_t* at = options_.arena->data();
    for (const auto& ids : sequences()) {
      body.lengths.push_back(static_cast<uint32_t>(ids.size()));
      std::memcpy(at, ids.data(), ids.size() * 4);
      at += ids.size() * 4;
    }
    const Frame reply = ask(FrameType::kEmbed, encode(body));
    EXPECT_EQ(reply.type, FrameType::kEmbedded);
    const Result<EmbeddedBody> done = decode_embedded(reply.body);
    EXPECT_TRUE(done.ok() && done->count == sequences().size() && done->dim == dim);
    std::vector<float> out(sequences().size() * dim);
    std::memcpy(out.data(), options_.arena->data() + 65536, out.size() * 4);
    return out;
  }
  // Without any worker: the model and an engine of its own, layer by layer.
  std::vector<float> by_hand() {
    SoftEngineOptions engine_options;
    engine_options.cache_dir = folder_.file("other-cache");
    engine_options.temp_dir = folder_.path();
    engine_options.signing_identifier = "test";
    engine_options.threads = 1;
    auto engine = *make_soft_engine(engine_options);
    const auto model = *open_model(folder_.file("model"), {});
    std::vector<std::unique_ptr<LoadedProgram>> layers;
    for (uint32_t i = 0; i < model->summary().layers; ++i)
      layers.push_back(
          std::move(load_program(*engine, model->layer_program(kShape, i), LoaderOptions{0})->program));
    std::vector<float> all;
    for (const auto& ids : sequences()) {
      const PortBuffer x = *PortBuffer::make(*engine, layers[0]->inputs()[0].bytes);
      const PortBuffer mask = *PortBuffer::make(*engine, layers[0]->inputs()[1].bytes);
      EXPECT_TRUE(model->embed_tokens(ids, kShape, x.halves(), mask.halves()).ok());
      for (const auto& layer : layers) {
        const PortBuffer y = *PortBuffer::make(*engine, layer->outputs()[0].bytes);
        const Buffer in[] = {x.buffer(), mask.buffer()}, out[] = {y.buffer()};
        EXPECT_TRUE(layer->run(in, out).ok());
        std::memcpy(x.halves(), y.halves(), y.buffer().bytes);
      }
      std::vector<float> vector(model->summary().dim);
      EXPECT_TRUE(model->finish(x.halves(), kShape, static_cast<uint32_t>(ids.size()), vector).ok());
      all.insert(all.end(), vector.begin(), vector.end());
    }
    return all;
  }

  TempFolder folder_;
  LaunchOptions options_;
  std::unique_ptr<WorkerHandle> worker_;
  FrameReader reader_;
  uint64_t request_ = 0;
  uint32_t progress_ = 0;
  std::set<std::string> threads_before_;
};
INSTANTIATE_TEST_SUITE_P(Modes, ThroughWorker, testing::Bool(), [](const auto& mode) {
  return mode.param ? std::string("Thread") : std::string("Process");
});

TEST_P(ThroughWorker, VectorsAreTheBitsOfTheSamePartsWithoutAWorker) {
  const LoadedBody loaded = load();
  EXPECT_EQ(loaded.layers, 2u);
  EXPECT_EQ(loaded.cached_shapes, std::vector<uint32_t>());
  const AdmittedBody admitted = admit();
  EXPECT_EQ(admitted.compiled_layers, 2u);
  EXPECT_EQ(admitted.cache_hit_layers, 0u);
  EXPECT_EQ(progress_, 2u);
  const std::vector<float> vectors = embed(loaded.dim);
  const std::vector<float> expected = by_hand();
  ASSERT_EQ(vectors.size(), expected.size());
  EXPECT_EQ(std::memcmp(vectors.data(), expected.data(), expected.size() * 4), 0);
  EXPECT_NE(vectors[0], vectors[loaded.dim]) << "other texts, other vectors";
}

TEST_P(ThroughWorker, L8_2_SecondLifeLoadsWhatTheFirstCompiled) {
  const uint32_t dim = load().dim;
  admit();
  const std::vector<float> first = embed(dim);
  worker_.reset();
  launch();
  EXPECT_EQ(load().cached_shapes, (std::vector<uint32_t>{kShape}));
  const AdmittedBody again = admit();
  EXPECT_EQ(again.cache_hit_layers, 2u);
  EXPECT_EQ(again.compiled_layers, 0u);
  EXPECT_EQ(embed(dim), first);
}

TEST_P(ThroughWorker, EvictedShapeMustBeAdmittedAgain) {
  load();
  admit();
  EXPECT_EQ(ask(FrameType::kEvict, shape_json(kShape).dump()).type, FrameType::kEvicted);
  EXPECT_TRUE(send_frame(worker_->stream_fd(),
                         {FrameType::kEmbed, 999, encode(EmbedBody{kShape, 0, 4096, {1}})},
                         now_ns() + 1000 * kMs)
                  .ok());
  const Result<Frame> refused = receive_frame(worker_->stream_fd(), &reader_, now_ns() + 5000 * kMs);
  ASSERT_TRUE(refused.ok());
  Status status;
  ASSERT_TRUE(parse_failed(refused->body, &status).ok());
  EXPECT_NE(status.message().find("shape_not_admitted"), std::string::npos);
  EXPECT_EQ(admit().cache_hit_layers, 2u);
}

TEST_P(ThroughWorker, RunGivesTheSameHiddenStateTwice) {
  const LoadedBody loaded = load();
  admit();
  const uint64_t bytes = uint64_t{loaded.width} * kShape * 2;
  Half* x = reinterpret_cast<Half*>(options_.arena->data());
  for (uint64_t i = 0; i < bytes / 2; ++i) x[i] = float_to_half(static_cast<float>(i % 17) * 0.125f - 1.0f);
  const uint64_t mask = bytes, y = 2 * bytes, z = 3 * bytes;
  EXPECT_EQ(ask(FrameType::kRun, encode(RunBody{kShape, {0, mask}, {y}})).type, FrameType::kRan);
  EXPECT_EQ(ask(FrameType::kRun, encode(RunBody{kShape, {0, mask}, {z}})).type, FrameType::kRan);
  EXPECT_EQ(std::memcmp(options_.arena->data() + y, options_.arena->data() + z, bytes), 0);
  EXPECT_NE(std::memcmp(options_.arena->data() + y, x, bytes), 0);
}

TEST_P(ThroughWorker, ClosingTheStreamsEndsItInGoodOrder) {
  load();
  admit();
  worker_->close_streams();
  ASSERT_TRUE(eventually([&] { return worker_->exited(); }, 900))
      << "before the second that a stuck one gets";
  EXPECT_EQ(worker_->how_it_ended(), GetParam() ? "has ended" : "ended with code 0");
}

struct Lines {
  std::mutex mutex;
  std::string text;
};

TEST_P(ThroughWorker, LogLinesReachTheHost) {
  Lines lines;
  if (GetParam())
    set_log(
        [](void* user, int32_t, const char* line) {
          Lines& to = *static_cast<Lines*>(user);
          const std::lock_guard lock(to.mutex);
          to.text += std::string("INFO ") + line + "\n";
        },
        &lines, LogLevel::kInfo);
  load();
  admit();
  worker_->close_streams();
  ASSERT_TRUE(eventually([&] { return worker_->exited(); }));
  set_log(nullptr, nullptr, LogLevel::kOff);
  const std::lock_guard lock(lines.mutex);
  std::string& text = lines.text;
  char chunk[65536];
  if (!GetParam()) {
    const ssize_t n = ::read(worker_->log_fd(), chunk, sizeof chunk);
    ASSERT_GT(n, 0);
    text.assign(chunk, static_cast<size_t>(n));
  }
  EXPECT_NE(text.find("INFO ane-direct compile cache check: model_ref="), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "INFO ane-direct shape admission: shape=128 layers_loaded=2 cache_hit=0 compiled=2 total_ms="),
      std::string::npos)
      << text;
}

uint64_t blocked_signals(const std::string& thread) {
  std::istringstream status(read_all("/proc/self/task/" + thread + "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("SigBlk:", 0) == 0) return std::stoull(line.substr(7), nullptr, 16);
  return 0;
}

TEST_P(ThroughWorker, NoWorkerThreadTakesTheHostsSignalsAndAProcessBringsNoThread) {
  load();
  const auto bit = [](int signal) { return uint64_t{1} << (signal - 1); };
  size_t ours = 0;
  for (const std::string& id : own_threads()) {
    if (threads_before_.count(id) != 0) continue;
    ++ours;
    EXPECT_TRUE(blocked_signals(id) & bit(SIGTERM)) << id;
    EXPECT_TRUE(blocked_signals(id) & bit(SIGCHLD)) << id;
    // The C library starts and ends every thread with all signals blocked.
    EXPECT_TRUE(eventually([&] { return (blocked_signals(id) & bit(SIGSEGV)) == 0; })) << id;
  }
  if (GetParam())
    EXPECT_GE(ours, 2u) << "engine and control";
  else
    EXPECT_EQ(ours, 0u);
}

}  // namespace
}  // namespace anelane::worker
