// A lane whose worker is a process with the engine "apple" over the stand-in: what a host program sees.
// Public header only; the worker is tools/worker_main.cc with the stand-in behind default_apple_options().
#include <anelane.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/tiny_checkpoint.h"

namespace anelane {
namespace {

constexpr uint64_t kBoundMs = 240'000;
constexpr uint32_t kDim = 64;

std::mutex g_mutex;
std::vector<std::string> g_lines;

void keep_line(void*, anelane_log_level, const char* line) {
  const std::lock_guard lock(g_mutex);
  g_lines.emplace_back(line);
}

size_t logged(const std::string& part) {
  const std::lock_guard lock(g_mutex);
  size_t count = 0;
  for (const std::string& line : g_lines) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

uint64_t in_ms(uint64_t ms) {
  return anelane_now_ns() + ms * 1'000'000;
}

// A machine for the workers, by the environment that they inherit.
class AppleLane : public testing::Test {
 protected:
  static void SetUpTestSuite() { anelane_set_log(keep_line, nullptr, ANELANE_LOG_INFO); }
  void SetUp() override {
    ASSERT_TRUE(write_tiny_checkpoint(folder_.file("tiny")).ok());
    ::setenv("ANE_STANDIN_ROOT", folder_.file("machine").c_str(), 1);
    ::setenv("ANE_STANDIN_CONTROL", folder_.file("control").c_str(), 1);
    ::unsetenv("TMPDIR");
    control("");
    const std::lock_guard lock(g_mutex);
    g_lines.clear();
  }
  void TearDown() override { close(); }

  // Knobs of the stand-in while it runs.
  void control(const std::string& text) {
    ASSERT_TRUE(write_file_atomic(folder_.file("control"), text).ok());
  }
  anelane_status open(anelane_engine engine, uint32_t flags = 0,
                      anelane_worker_mode mode = ANELANE_WORKER_PROCESS,
                      const char* worker = ANELANE_STANDIN_WORKER) {
    anelane_lane_options options;
    anelane_lane_options_init(&options, sizeof options);
    const std::string lock = folder_.file(engine == ANELANE_ENGINE_SOFT ? "soft-lane" : "lane");
    options.engine = engine;
    options.flags = flags;
    options.worker_mode = mode;
    options.lock_dir = lock.c_str();
    options.worker_path = worker;
    if (!record_.empty()) options.record_path = record_.c_str();
    options.soft_threads = 1;
    const anelane_status opened = anelane_lane_open(&options, in_ms(kBoundMs), &lane_, error());
    if (opened != ANELANE_OK) return opened;
    return anelane_model_load(lane_, folder_.file("tiny").c_str(), nullptr, in_ms(kBoundMs), &model_,
                              error());
  }
  void close() {
    if (lane_.bits != 0) {
      EXPECT_EQ(anelane_lane_close(lane_, in_ms(kBoundMs), error()), ANELANE_OK) << text();
    }
    lane_ = {};
  }
  std::vector<float> embed(uint32_t tokens, anelane_status expected = ANELANE_OK) {
    std::vector<int32_t> ids(tokens, 40);
    std::vector<float> row(kDim);
    const anelane_tokens item = {ids.data(), ids.size()};
    EXPECT_EQ(anelane_embed(model_, &item, 1, row.data(), 0, nullptr, in_ms(kBoundMs), error()), expected)
        << text();
    return row;
  }
  anelane_error* error() {
    err_ = {};
    err_.struct_size = sizeof err_;
    return &err_;
  }
  std::string text() const {
    char buffer[2048] = "";
    anelane_error_text(&err_, buffer, sizeof buffer);
    return buffer;
  }

  TempFolder folder_;
  std::string record_;
  anelane_lane lane_ = {};
  anelane_model model_ = {};
  anelane_error err_ = {};
};

TEST_F(AppleLane, EmbedsWithTheBitsOfTheSoftwareEngineAndCompilesOnce) {
  ASSERT_EQ(open(ANELANE_ENGINE_SOFT), ANELANE_OK) << text();
  const std::vector<float> expected = embed(5), wide = embed(200);
  close();
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(open(ANELANE_ENGINE_APPLE), ANELANE_OK) << text();
    EXPECT_EQ(embed(5), expected);
    EXPECT_EQ(embed(200), wide);
    close();
    EXPECT_EQ(logged("shape admission: shape=128 layers_loaded=2 cache_hit=0 compiled=2"), 2u)
        << "soft, apple";
    EXPECT_EQ(logged("shape admission: shape=128 layers_loaded=2 cache_hit=2 compiled=0"),
              life == 0 ? 0u : 1u);
  }
}

// Models of the caller's own programs: several outputs, and a tensor that skips a layer.
TEST_F(AppleLane, TheCallersOwnProgramsGiveTheSameBitsToo) {
  constexpr uint32_t kWidth = 64, kChannels = 32;
  std::vector<uint16_t> x(kChannels * kWidth);
  for (uint32_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(0x2c00 + i * 37 % 1024);
  std::vector<std::vector<uint16_t>> results;
  for (const anelane_engine engine : {ANELANE_ENGINE_SOFT, ANELANE_ENGINE_APPLE}) {
    ASSERT_EQ(open(engine), ANELANE_OK) << text();
    anelane_model own = {};
    ASSERT_EQ(anelane_model_load(lane_, ANELANE_SOURCE_DIR "/examples/programs/residual", nullptr,
                                 in_ms(kBoundMs), &own, error()),
              ANELANE_OK)
        << text();
    anelane_lease lease = {};
    ASSERT_EQ(anelane_lease_acquire(own, kWidth, in_ms(kBoundMs), &lease, error()), ANELANE_OK) << text();
    std::vector<uint16_t> out(kWidth + x.size());
    anelane_tensor in = {}, outs[2] = {};
    in.data = x.data();
    in.bytes = 2 * x.size();
    in.port = 0;
    outs[0].data = out.data();
    outs[0].bytes = 2 * kWidth;
    outs[0].port = 1;
    outs[1].data = out.data() + kWidth;
    outs[1].bytes = 2 * x.size();
    outs[1].port = 2;
    ASSERT_EQ(anelane_run(lease, &in, 1, outs, 2, in_ms(kBoundMs), error()), ANELANE_OK) << text();
    anelane_lease_release(lease);
    results.push_back(out);
    close();
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(results[0], std::vector<uint16_t>(results[0].size()));
}

TEST_F(AppleLane, TheRouteAndTheDialectAreLaneOptions) {
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE, ANELANE_LANE_APPLE_CLIENT), ANELANE_OK) << text();
  embed(5);
  close();
  EXPECT_TRUE(is_folder(folder_.file("lane/programs/apple-sources")));
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE, ANELANE_LANE_MIL_IOS16), ANELANE_OK) << text();
  embed(5, ANELANE_COMPILE_FAILED);
  EXPECT_NE(text().find("InvalidMILProgram"), std::string::npos) << text();
  close();
  EXPECT_EQ(open(ANELANE_ENGINE_APPLE, ANELANE_LANE_MIL_IOS16 | ANELANE_LANE_MIL_IOS18),
            ANELANE_INVALID_ARGUMENT);
  EXPECT_EQ(open(ANELANE_ENGINE_APPLE, ANELANE_LANE_APPLE_CLIENT | ANELANE_LANE_APPLE_IN_MEMORY),
            ANELANE_INVALID_ARGUMENT);
}

TEST_F(AppleLane, AutoTakesAppleWhereItIsAndSoftwareWhereItIsNot) {
  ASSERT_EQ(open(ANELANE_ENGINE_AUTO), ANELANE_OK) << text();
  embed(5);
  close();
  EXPECT_FALSE(is_folder(folder_.file("lane/programs/apple-sources")));
  EXPECT_TRUE(is_folder(folder_.file("machine")));
  ::setenv("ANE_STANDIN_HIDE_CLASS", "_ANERequest", 1);
  ASSERT_EQ(open(ANELANE_ENGINE_AUTO), ANELANE_OK) << text();
  embed(5);
  close();
  EXPECT_EQ(logged("the Neural Engine is not used, all is computed in software"), 1u);
  EXPECT_EQ(open(ANELANE_ENGINE_APPLE), ANELANE_ENGINE_UNAVAILABLE);
  EXPECT_NE(text().find("_ANERequest"), std::string::npos) << text();
  ::unsetenv("ANE_STANDIN_HIDE_CLASS");
}

TEST_F(AppleLane, TheInstalledWorkerSaysThatThisSystemHasNone) {
  EXPECT_EQ(open(ANELANE_ENGINE_APPLE, 0, ANELANE_WORKER_PROCESS, ANELANE_REAL_WORKER),
            ANELANE_ENGINE_UNAVAILABLE);
  EXPECT_NE(text().find("this system does not have"), std::string::npos) << text();
}

TEST_F(AppleLane, L9_PrewarmLoadsTheSmallShapes) {
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE, ANELANE_LANE_PREWARM), ANELANE_OK) << text();
  for (const uint64_t end = in_ms(kBoundMs);
       logged("direct-ANE prewarm finished") == 0 && anelane_now_ns() < end;)
    ::usleep(5000);
  EXPECT_EQ(logged("direct-ANE prewarm finished: lane=tiny loaded=[128, 256] loaded_from_cache=0 compiled=2"),
            1u);
}

// The pool holds one shape: the lane evicts the other and tries again (L4.15).
TEST_F(AppleLane, L4_15_AFullMachineCostsAnEvictionNotARestart) {
  control("pool_limit=3\n");
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE), ANELANE_OK) << text();
  const std::vector<float> narrow = embed(5), wide = embed(200);
  EXPECT_EQ(embed(5), narrow);
  EXPECT_EQ(embed(200), wide);
  anelane_lane_stats stats = {};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(anelane_lane_get_stats(lane_, &stats, error()), ANELANE_OK);
  EXPECT_EQ(stats.restarts, 0u);
  EXPECT_GE(stats.evicted, 3u);
}

TEST_F(AppleLane, L4_13_L4_15_TheSchedulerKnowsOfTheDaemon) {
  record_ = folder_.file("record");
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE), ANELANE_OK) << text();
  close();
  const std::string record = *read_file(record_, 1u << 20);
  EXPECT_NE(record.find("\"reclaim\":300000"), std::string::npos) << record.substr(0, 2000);
  EXPECT_NE(record.find("\"daemon_goes_on\":true"), std::string::npos);
}

TEST_F(AppleLane, AWorkerThatDiesInACompileIsReplacedAndLeavesNothing) {
  control("kill_compile=1\n");
  ASSERT_EQ(open(ANELANE_ENGINE_APPLE), ANELANE_OK) << text();
  embed(5, ANELANE_ENGINE_CRASHED);
  control("");
  embed(5);
  close();
  EXPECT_EQ(logged("interrupted compiles"), 1u) << "the next worker has cleaned the temp folder";
}

}  // namespace
}  // namespace anelane
