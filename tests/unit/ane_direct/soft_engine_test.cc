// The engine as the worker sees it: compile, probe, load, run, unload, and what goes wrong between them.
#include "ane_direct/soft/soft_engine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ane_direct/content_id.h"
#include "base/file.h"
#include "base/log.h"
#include "soft_harness.h"

namespace anelane {
namespace {

namespace fs = std::filesystem;

Program add_one(float one = 1) {
  MilWriter mil;
  const auto x = mil.input("x", {1, 4, 1, 40});
  mil.output("y", mil.add(mil.conv(x, mil.weight({4, 4, 1, 1}, std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0,
                                                                                  0, 1, 0, 0, 0, 0, 1})),
                          one));
  return *std::move(mil).finish();
}

std::unique_ptr<Engine> open_engine(const SoftEngineOptions& options) {
  auto engine = make_soft_engine(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? *std::move(engine) : nullptr;
}

std::string entry_of(const TempFolder& folder, const std::string& id) {
  return folder.path() + "/test-1/InMemoryModelCache/anelane-worker/" + id + "/model.plan";
}

TEST(SoftEngine, SaysWhatItIs) {
  const TempFolder folder;
  SoftEngineOptions options = test_options(folder);
  EngineInfo info = open_engine(options)->info();
  EXPECT_EQ(info.name, "soft");
  EXPECT_EQ(info.os_build, "test-1");
  EXPECT_EQ(info.numerics, "fast");
  EXPECT_TRUE(info.dispatch == "avx512" || info.dispatch == "avx2" || info.dispatch == "baseline");
  EXPECT_EQ(info.pool_limit, 118u);
  options.os_build = "";
  options.numerics = "lattice";
  info = open_engine(options)->info();
  EXPECT_FALSE(info.os_build.empty());
  EXPECT_EQ(info.numerics, "lattice");
}

TEST(SoftEngine, BadOptionsAreRefused) {
  const TempFolder folder;
  const auto code = [&](auto change) {
    SoftEngineOptions options = test_options(folder);
    change(options);
    return make_soft_engine(options).status().code();
  };
  EXPECT_EQ(code([](auto& o) { o.cache_dir = ""; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.numerics = "exact"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.pool_limit = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& o) { o.signing_identifier = "../x"; }), Code::kInvalidArgument);
}

TEST(SoftEngine, F11_AnotherEngineFindsWhatOneCompiled) {
  const TempFolder folder;
  const Program program = add_one();
  std::string id;
  {
    const auto engine = open_engine(test_options(folder));
    id = engine->identify(program);
    EXPECT_EQ(id, content_id(program));
    EXPECT_FALSE(engine->probe(id));
    EXPECT_EQ(engine->load(id).status().code(), Code::kIo);
    ASSERT_TRUE(engine->compile(id, program).ok());
    EXPECT_TRUE(engine->probe(id));
  }
  const auto engine = open_engine(test_options(folder));
  EXPECT_TRUE(engine->probe(id));
  auto loaded = engine->load(id);
  ASSERT_TRUE(loaded.ok());
  const auto x = random_values(1, 160);
  const auto y = run_dense(**loaded, {x})[0];
  for (size_t i = 0; i < 160; ++i) EXPECT_EQ(y[i], as_half(x[i] + 1));
  SoftEngineOptions other = test_options(folder);
  other.os_build = "test-2";
  EXPECT_FALSE(open_engine(other)->probe(id));
  other = test_options(folder);
  other.signing_identifier = "python3";
  EXPECT_FALSE(open_engine(other)->probe(id));
}

TEST(SoftEngine, S110_TwoProcessesMakeTheSameIdentifierAndTheSamePlan) {
  const LayerSize size{64, 128, 4, 64};
  const TempFolder folder;
  std::vector<std::string> ids, plans;
  for (const char* name : {"p1", "p2"}) {
    const std::string out = folder.path() + "/" + name;
    const pid_t pid = ::fork();
    if (pid == 0) {
      SoftEngineOptions options = test_options(folder);
      options.cache_dir = out + ".cache";
      auto engine = make_soft_engine(options);
      const auto program = write_layer(size, random_layer(size, 7));
      const std::string id = content_id(*program);
      const bool good =
          engine.ok() && (*engine)->compile(id, *program).ok() && write_file_atomic(out, id).ok();
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_EQ(status, 0);
    ids.push_back(*read_file(out, 1000));
    plans.push_back(*read_file(
        out + ".cache/test-1/InMemoryModelCache/anelane-worker/" + ids.back() + "/model.plan", 1u << 30));
  }
  EXPECT_EQ(ids[0].size(), 194u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(plans[0], plans[1]);
}

TEST(SoftEngine, DamagedEntriesAreMissesAndCompilingCuresThem) {
  const TempFolder folder;
  const Program program = add_one();
  const auto engine = open_engine(test_options(folder));
  const std::string id = engine->identify(program), file = entry_of(folder, id);
  const auto damage = [&](auto how) {
    ASSERT_TRUE(engine->compile(id, program).ok());
    ASSERT_TRUE(engine->probe(id));
    how();
    EXPECT_FALSE(engine->probe(id));
    EXPECT_EQ(engine->load(id).status().code(), Code::kIo);
    ASSERT_TRUE(engine->compile(id, program).ok());
    EXPECT_TRUE(engine->load(id).ok());
  };
  damage([&] { fs::resize_file(file, 0); });
  damage([&] { fs::resize_file(file, fs::file_size(file) - 1); });
  damage([&] { fs::resize_file(file, fs::file_size(file) + 64); });
  damage([&] {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(fs::file_size(file)) / 2);
    stream.put('\x55');
  });
  damage([&] { fs::remove(file); });
  damage([&] { fs::remove_all(fs::path(file).parent_path()); });
  damage([&] {
    fs::remove(file);
    ::mkfifo(file.c_str(), 0600);  // must not block the reader
  });
}

TEST(SoftEngine, CompileFailuresAreDeterministicAndNameTheOperation) {
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  Program program = add_one();
  program.mil.replace(program.mil.find("conv("), 4, "mod");
  const Status first = engine->compile(engine->identify(program), program);
  EXPECT_EQ(first.code(), Code::kCompileFailed);
  EXPECT_NE(first.message().find("operation \"mod\""), std::string::npos) << first.message();
  EXPECT_NE(first.message().find("line 10"), std::string::npos) << first.message();
  EXPECT_EQ(engine->compile(engine->identify(program), program).message(), first.message());
  EXPECT_EQ(engine->compile(engine->identify(add_one()), program).code(), Code::kInvalidArgument);
}

TEST(SoftEngine, PoolIsReturnedByUnloading) {
  const TempFolder folder;
  SoftEngineOptions options = test_options(folder);
  options.pool_limit = 2;
  auto engine = open_engine(options);
  const Program program = add_one();
  auto a = load_fresh(*engine, program);
  const std::string id = engine->identify(program);
  auto b = engine->load(id);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(engine->load(id).status().code(), Code::kResourcesExhausted);
  a.reset();
  EXPECT_TRUE(engine->load(id).ok());
  EXPECT_TRUE(engine->load(id).ok());
  engine.reset();  // a program outlives its engine
  const auto x = random_values(1, 160);
  EXPECT_EQ(run_dense(**b, {x})[0][3], as_half(x[3] + 1));
}

TEST(SoftEngine, PortsHaveRowsOf64Bytes) {
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  const auto loaded = load_fresh(*engine, add_one());
  const Port& x = loaded->inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dims, (std::vector<uint64_t>{1, 4, 1, 40}));
  EXPECT_EQ(x.strides, (std::vector<uint64_t>{512, 128, 128, 2}));
  EXPECT_EQ(x.bytes, 512u);
}

TEST(SoftEngine, WrongBuffersAreRefused) {
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  const auto loaded = load_fresh(*engine, add_one());
  std::vector<uint8_t> memory(512);
  const Buffer good{memory.data(), 512}, small{memory.data(), 511}, none{};
  const auto run = [&](std::vector<Buffer> in, std::vector<Buffer> out) { return loaded->run(in, out); };
  EXPECT_TRUE(run({good}, {good}).ok());  // the same buffer for both
  EXPECT_EQ(run({small}, {good}).message(), "input x: the buffer has 511 bytes, the program needs 512");
  EXPECT_EQ(run({good}, {small}).code(), Code::kInvalidArgument);
  EXPECT_EQ(run({none}, {good}).code(), Code::kInvalidArgument);
  EXPECT_EQ(run({}, {good}).code(), Code::kInvalidArgument);
  EXPECT_EQ(run({good, good}, {good}).code(), Code::kInvalidArgument);
}

std::vector<std::string>* g_lines = nullptr;

TEST(SoftEngine, F76_AFullDiskLeavesTheProgramInMemoryWithAWarning) {
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  const Program program = add_one();
  const std::string id = engine->identify(program);
  std::vector<std::string> lines;
  g_lines = &lines;
  set_log(
      [](void*, int32_t level, const char* line) {
        if (level >= 2) g_lines->push_back(line);
      },
      nullptr, LogLevel::kWarn);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{64, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status status = engine->compile(id, program);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_DFL);
  set_log(nullptr, nullptr, LogLevel::kOff);
  EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(folder.path()), std::string::npos) << lines[0];
  EXPECT_FALSE(is_regular_file(entry_of(folder, id)));
  EXPECT_TRUE(engine->probe(id));
  EXPECT_TRUE(engine->load(id).ok());
  EXPECT_FALSE(open_engine(test_options(folder))->probe(id));
  ASSERT_TRUE(engine->compile(id, program).ok());  // the disk has room again
  EXPECT_TRUE(is_regular_file(entry_of(folder, id)));
}

TEST(SoftEngine, F76_AnUnusableCacheFolderStillServes) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/file") << "x";
  SoftEngineOptions options = test_options(folder);
  options.cache_dir = folder.path() + "/file";
  const auto engine = open_engine(options);
  EXPECT_NE(load_fresh(*engine, add_one()), nullptr);
}

TEST(SoftEngine, TempSpaceNamesTheFolder) {
  const TempFolder folder;
  SoftEngineOptions options = test_options(folder);
  EXPECT_GT(*open_engine(options)->temp_space(), 0u);
  options.temp_dir = folder.path() + "/missing";
  const auto missing = open_engine(options)->temp_space();
  EXPECT_EQ(missing.status().code(), Code::kIo);
  EXPECT_NE(missing.status().message().find(folder.path() + "/missing"), std::string::npos);
}

TEST(SoftEngine, TheHostsRoundingModeDoesNotMatterAndStays) {
  const auto x = random_values(1, 160);
  const auto whole = [&](int rounding) {
    const TempFolder folder;  // a fresh engine: tables of functions are made at load
    std::fesetround(rounding);
    MilWriter mil;
    const auto in = mil.input("x", {1, 4, 1, 40});
    mil.output("y", mil.add(mil.unary(MilOp::kRound, mil.mul(in, 7.0f)), mil.gelu(in, "EXACT")));
    const auto engine = open_engine(test_options(folder));
    const auto loaded = load_fresh(*engine, *std::move(mil).finish());
    const auto y = run_dense(*loaded, {x});
    EXPECT_EQ(std::fegetround(), rounding);
    std::fesetround(FE_TONEAREST);
    return y;
  };
  EXPECT_EQ(whole(FE_UPWARD), whole(FE_TONEAREST));
}

TEST(SoftEngine, RungsOfOneLayerAreIndependentPrograms) {
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  std::vector<std::unique_ptr<LoadedProgram>> rungs;
  std::vector<std::vector<float>> alone;
  for (const uint64_t tokens : {32, 64, 128}) {
    const LayerSize size{32, 64, 2, tokens};
    rungs.push_back(load_fresh(*engine, *write_layer(size, random_layer(size, 1))));
    alone.push_back(run_dense(*rungs.back(), {random_values(1, 32 * tokens), std::vector<float>(tokens)})[0]);
  }
  for (size_t i = rungs.size(); i-- > 0;) {
    const uint64_t tokens = 32u << i;
    EXPECT_EQ(run_dense(*rungs[i], {random_values(1, 32 * tokens), std::vector<float>(tokens)})[0], alone[i]);
  }
}

TEST(SoftEngine, CastsAtTheBorder) {
  const std::string text = R"(program(1.3) {
func main<ios18>(tensor<fp32, [1, 2, 1, 20]> x) {
tensor<fp16, [1, 2, 1, 20]> h = cast(x = x, dtype = string("fp16"));
tensor<fp16, [1, 2, 1, 20]> d = add(x = h, y = h);
tensor<fp32, [1, 2, 1, 20]> y = cast(x = d, dtype = string("fp32"));
} -> (y);
})";
  const TempFolder folder;
  const auto engine = open_engine(test_options(folder));
  const auto loaded = load_fresh(*engine, {text, {}, ""});
  ASSERT_NE(loaded, nullptr);
  const Port& port = loaded->inputs()[0];
  EXPECT_EQ(port.dtype, Dtype::kF32);
  EXPECT_EQ(port.strides, (std::vector<uint64_t>{256, 128, 128, 4}));
  std::vector<float> in(64, 0), out(64, -1);
  for (size_t i = 0; i < 20; ++i) in[i] = in[32 + i] = static_cast<float>(i) * 0.1f;
  in[0] = std::nanf("");
  const Buffer from{in.data(), 256}, to{out.data(), 256};
  ASSERT_TRUE(loaded->run({&from, 1}, {&to, 1}).ok());
  EXPECT_EQ(out[0], HUGE_VALF);
  for (size_t i = 1; i < 20; ++i) EXPECT_EQ(out[32 + i], 2 * as_half(in[i]));
  EXPECT_EQ(out[20], 0);  // padding
}

}  // namespace
}  // namespace anelane
