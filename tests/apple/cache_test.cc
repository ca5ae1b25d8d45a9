// Load before compile against the stand-in's vault: what is held is not compiled and writes nothing; what is
// not usable is compiled, that program alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ane_direct/sha256.h"
#include "base/file.h"
#include "cache/program_loader.h"
#include "on_standin.h"

namespace anelane {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::TestWithParam<const char*> {
 protected:
  Machine machine_;
  bool client() const { return std::string(GetParam()) == "client"; }
  std::unique_ptr<Engine> engine() { return engine_on(machine_, GetParam()); }
  // Loads layers 1, 2, 3; how many were compiled.
  int load_three(const Program& second = doubling(2)) {
    const auto apple = engine();
    std::vector<LayerLoad> layers;
    int compiled = 0;
    for (const Program& program : {doubling(1), second, doubling(3)}) {
      auto layer = load_program(*apple, program, LoaderOptions{0});
      EXPECT_TRUE(layer.ok()) << layer.status().message();
      if (!layer.ok()) return -1;
      compiled += layer->origin == LoadOrigin::kCompiled ? 1 : 0;
      outputs_.push_back(run_program(*apple, *layer->program, true));
      layers.push_back(*std::move(layer));
    }
    EXPECT_EQ(counters().compiles, compiled);
    return compiled;
  }
  std::string entry_of(const Program& program) {
    char file[4096] = {};
    EXPECT_TRUE(standin_api().vault_file(client(), key_of(program).c_str(), file, sizeof file));
    return file;
  }
  std::string key_of(const Program& program);
  void compile_all() {
    EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(load_three(), 3); }), 0);
  }
  // Breaks the entry of layer 2 by `spoil` in a new process, then loads all: that one alone is compiled.
  void one_is_compiled_after(const std::function<void(const std::string&)>& spoil) {
    compile_all();
    EXPECT_EQ(in_process_on(machine_,
                            [&] {
                              const std::string entry = entry_of(doubling(2));
                              ASSERT_TRUE(fs::exists(entry)) << entry;
                              spoil(entry);
                              EXPECT_EQ(load_three(), 1);
                            }),
              0);
    EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(load_three(), 0) << "now it is held again"; }), 0);
  }
  std::vector<std::vector<std::vector<uint8_t>>> outputs_;
};
INSTANTIATE_TEST_SUITE_P(Routes, Cache, testing::Values("in-memory", "client"), [](const auto& route) {
  return std::string(route.param[0] == 'c' ? "Client" : "InMemory");
});

// The vault knows a client's program by the hashes of its path and its key.
std::string Cache::key_of(const Program& program) {
  const std::string id = engine()->identify(program);
  if (!client()) return id;
  const std::string folder = machine_.cache() + "/apple-sources/" + id;
  return upper_hex(Sha256().update(folder).finish()) + "_" + upper_hex(Sha256().update(id).finish());
}

TEST_P(Cache, L8_2_ASecondProcessCompilesNothingWritesNothingAndGivesTheSameBits) {
  compile_all();
  std::error_code none;
  fs::remove_all(machine_.temp(), none);
  const auto sources = files_below(machine_.cache());
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            EXPECT_EQ(load_three(), 0);
                            const auto soft = soft_engine(machine_.folder.file("soft"));
                            size_t i = 0;
                            for (const Program& program : {doubling(1), doubling(2), doubling(3)}) {
                              const auto layer = load_program(*soft, program, LoaderOptions{0});
                              EXPECT_EQ(outputs_[i++], run_program(*soft, *layer->program, false));
                            }
                          }),
            0);
  EXPECT_TRUE(files_below(machine_.temp()).empty())
      << "nothing was written, not even for a moment: no lock folder";
  EXPECT_EQ(files_below(machine_.cache()), sources);
}

TEST_P(Cache, L8_6_AnotherSigningIdentifierCompilesAgain) {
  machine_.knobs["signing_id"] = "org.one";
  compile_all();
  machine_.knobs["signing_id"] = "org.two";
  EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(load_three(), 3); }), 0);
  machine_.knobs["signing_id"] = "org.one";
  EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(load_three(), 0); }), 0);
}

TEST_P(Cache, AnotherOsBuildCompilesAgain) {
  machine_.knobs["os_build"] = "26A434";
  compile_all();
  machine_.knobs["os_build"] = "26B100";
  EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(load_three(), 3); }), 0);
}

TEST_P(Cache, L8_1_OneWeightBitIsAnotherProgram) {
  compile_all();
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            Program other = doubling(2);
                            other.weights.back() ^= 1;
                            EXPECT_EQ(load_three(other), 1);
                          }),
            0);
}

TEST_P(Cache, ACorruptEntryIsCompiledAloneAndReplaced) {
  one_is_compiled_after([](const std::string& entry) {
    std::string bytes = *read_file(entry, 1u << 24);
    bytes[bytes.size() / 2] ^= 0x40;
    std::ofstream(entry, std::ios::binary) << bytes;
  });
}

TEST_P(Cache, AnEmptyEntryIsCompiledAloneAndReplaced) {
  one_is_compiled_after([](const std::string& entry) { std::ofstream(entry, std::ios::trunc); });
}

TEST_P(Cache, AnEntryThatVanishedIsCompiledAlone) {
  one_is_compiled_after([](const std::string& entry) { fs::remove(entry); });
}

// It was there when it was asked for: the load of the wrapper would then compile by itself, out of nothing.
TEST_P(Cache, AnEntryThatVanishesBeforeTheLoadIsCompiledAndLeavesNoFiles) {
  compile_all();
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const Program program = doubling(2);
                            ASSERT_TRUE(apple->probe_program(apple->identify(program), program));
                            fs::remove(entry_of(program));
                            EXPECT_EQ(apple->load_program(apple->identify(program), program).status().code(),
                                      Code::kIo);
                            EXPECT_EQ(counters().compiles, 0);
                            const auto layer = load_program(*apple, program, LoaderOptions{0});
                            ASSERT_TRUE(layer.ok()) << layer.status().message();
                            EXPECT_EQ(layer->origin, LoadOrigin::kCompiled);
                          }),
            0);
  for (const std::string& file : files_below(machine_.temp())) EXPECT_EQ(file, "anelane-staging");
}

TEST_P(Cache, AHeldProgramThatDoesNotLoadIsPurgedAndCompiled) {
  compile_all();
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            set_knob("fail_load", "1:ane:6:Program load failure (0x20004)");
                            const auto apple = engine();
                            const auto layer = load_program(*apple, doubling(1), LoaderOptions{0});
                            ASSERT_TRUE(layer.ok()) << layer.status().message();
                            EXPECT_EQ(layer->origin, LoadOrigin::kCompiled);
                            EXPECT_EQ(counters().purges, 1);
                            EXPECT_EQ(counters().compiles, 1);
                          }),
            0);
}

TEST_P(Cache, L8_2_AHeldProgramRefusedForResourcesIsNotCompiled) {
  compile_all();
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            for (const char* words : {"*:ane:54:no ANE resources (underlying=0x5)",
                                                      "*:ane:6:Program load failure (0x5)"}) {
                              set_knob("fail_load", words);
                              const auto apple = engine();
                              EXPECT_EQ(load_program(*apple, doubling(1), LoaderOptions{0}).status().code(),
                                        Code::kResourcesExhausted);
                              EXPECT_EQ(counters().compiles, 0);
                            }
                            set_knob("fail_load", "");
                          }),
            0);
}

TEST_P(Cache, AVaultThatTakesNothingIsAnErrorNotALoop) {
  machine_.knobs["vault_full"] = "1";
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const auto layer = load_program(*apple, doubling(1), LoaderOptions{0});
                            EXPECT_LE(counters().compiles, 2);
                            if (!layer.ok()) {
                              EXPECT_EQ(layer.status().code(), Code::kIo) << layer.status().message();
                            }
                          }),
            0);
}

}  // namespace
}  // namespace anelane
