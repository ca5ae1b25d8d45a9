// What lies in the temp folder before, during and after a compile; TMPDIR; the fall-back to the client's
// route.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "ane_direct/apple/staging.h"
#include "cache/program_loader.h"
#include "on_standin.h"

namespace anelane {
namespace {

namespace fs = std::filesystem;

Result<LayerLoad> load(Engine& engine, const Program& program) {
  return load_program(engine, program, LoaderOptions{0});
}

TEST(Staging, ARedirectedTmpdirIsRefusedBeforeAnythingIsTried) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const std::string other = machine.folder.file("other");
                            fs::create_directory(other);
                            ::setenv("TMPDIR", other.c_str(), 1);
                            const auto engine = make_apple_engine(options_on(machine, "in-memory"));
                            EXPECT_EQ(engine.status().code(), Code::kEngineUnavailable);
                            EXPECT_NE(engine.status().message().find("unset TMPDIR"), std::string::npos);
                            EXPECT_EQ(counters().compiles + counters().exists, 0);
                          }),
            0);
}

TEST(Staging, WithARedirectedTmpdirAutoGoesByTheClientRoute) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const std::string other = machine.folder.file("other");
                            fs::create_directory(other);
                            ::setenv("TMPDIR", other.c_str(), 1);
                            const auto engine = engine_on(machine, "auto");
                            const auto layer = load(*engine, doubling());
                            EXPECT_TRUE(layer.ok()) << layer.status().message();
                            EXPECT_TRUE(files_below(other).empty());
                            EXPECT_TRUE(files_below(machine.temp()).empty());
                          }),
            0);
}

TEST(Staging, ATmpdirThatIsTheSystemsOwnIsFine) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            ::setenv("TMPDIR", (std::string(standin_api().user_temp_dir()) + "/").c_str(), 1);
                            const auto engine = engine_on(machine, "in-memory");
                            EXPECT_TRUE(load(*engine, doubling()).ok());
                          }),
            0);
}

TEST(Staging, NothingStaysAfterACompileALoadAndAnUnload) {
  const Machine machine;
  EXPECT_EQ(
      in_process_on(machine,
                    [&] {
                      const auto engine = engine_on(machine, "in-memory");
                      const auto layer = load(*engine, doubling());
                      ASSERT_TRUE(layer.ok());
                      EXPECT_EQ(files_below(machine.temp()), (std::vector<std::string>{"anelane-staging"}))
                          << "also while the program is loaded";
                    }),
      0);
  EXPECT_EQ(files_below(machine.temp()), (std::vector<std::string>{"anelane-staging"}));
}

TEST(Staging, NothingStaysAfterACompileThatFails) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "in-memory");
                            set_knob("fail_compile", "*:compiler:1:err=(CompilationFailure)");
                            EXPECT_FALSE(load(*engine, doubling()).ok());
                            EXPECT_EQ(files_below(machine.temp()),
                                      (std::vector<std::string>{"anelane-staging"}));
                          }),
            0);
}

TEST(Staging, WhatAProcessKilledInACompileLeftGoesWhenTheNextEngineOpens) {
  Machine machine;
  machine.knobs["kill_compile"] = "1";
  const int how = in_process_on(machine, [&] {
    const auto engine = engine_on(machine, "in-memory");
    (void)load(*engine, doubling());
  });
  ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) << how;
  EXPECT_GE(files_below(machine.temp()).size(), 4u) << "model.mil, weights, the wrapper's own, the lock";
  machine.knobs.erase("kill_compile");
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "in-memory");
                            EXPECT_EQ(files_below(machine.temp()),
                                      (std::vector<std::string>{"anelane-staging"}));
                            EXPECT_TRUE(load(*engine, doubling()).ok());
                          }),
            0);
}

TEST(Staging, ALinkInThePlaceOfTheFolderIsNotFollowed) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "in-memory");
                            const std::string target = machine.folder.file("target");
                            fs::create_directory(target);
                            fs::create_directory_symlink(target, std::string(standin_api().user_temp_dir()) +
                                                                     "/" + engine->identify(doubling()));
                            EXPECT_TRUE(load(*engine, doubling()).ok());
                            EXPECT_TRUE(files_below(target).empty());
                          }),
            0);
}

TEST(Staging, Code10SwitchesAutoToTheClientRouteForGood) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "auto");
                            set_knob("fail_compile", "1:ane:10:invalid model");
                            EXPECT_TRUE(load(*engine, doubling(1)).ok());
                            EXPECT_TRUE(load(*engine, doubling(2)).ok());
                            EXPECT_EQ(counters().compiles_done, 2);
                            char file[4096];
                            ASSERT_TRUE(standin_api().vault_file(false, engine->identify(doubling(2)).c_str(),
                                                                 file, sizeof file));
                            EXPECT_FALSE(fs::exists(file)) << "not by the in-memory route";
                          }),
            0);
}

TEST(Staging, Code10OnARouteThatWasAskedForIsTheAnswer) {
  const Machine machine;
  EXPECT_EQ(
      in_process_on(machine,
                    [&] {
                      const auto engine = engine_on(machine, "in-memory");
                      set_knob("fail_compile", "1:ane:10:invalid model");
                      const Status status = load(*engine, doubling(1)).status();
                      EXPECT_EQ(status.code(), Code::kIo);
                      EXPECT_NE(status.message().find("client route"), std::string::npos) << status.message();
                      EXPECT_NE(status.message().find("invalid model"), std::string::npos);
                      EXPECT_TRUE(load(*engine, doubling(1)).ok()) << "at once: the compiler has not seen it";
                    }),
      0);
}

TEST(Staging, AnUnloadElsewhereDoesNotTakeTheSourcesFromUnderACompile) {
  Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "in-memory");
                            auto layer = load(*engine, doubling());
                            ASSERT_TRUE(layer.ok());
                            // Another process has just staged the same program.
                            const apple::StagingArea area(standin_api().user_temp_dir());
                            const std::string id = engine->identify(doubling());
                            const std::string folder = std::string(standin_api().user_temp_dir()) + "/" + id;
                            int ready[2];
                            ASSERT_EQ(::pipe(ready), 0);
                            const pid_t other = ::fork();
                            if (other == 0) {
                              const auto staged = area.stage(id, folder, doubling(), 1000);
                              (void)!::write(ready[1], staged.ok() ? "y" : "n", 1);
                              // Longer than the process here takes to start its unload, less than it waits.
                              ::usleep(300'000);
                              const bool whole = fs::exists(folder + "/model.mil");
                              (void)!::write(ready[1], whole ? "y" : "n", 1);
                              ::_exit(0);
                            }
                            ::close(ready[1]);
                            char answer = 0;
                            ASSERT_EQ(::read(ready[0], &answer, 1), 1);
                            EXPECT_EQ(answer, 'y');
                            layer->program.reset();
                            ASSERT_EQ(::read(ready[0], &answer, 1), 1);
                            EXPECT_EQ(answer, 'y') << "the unload has deleted what was staged";
                            ::waitpid(other, nullptr, 0);
                          }),
            0);
}

}  // namespace
}  // namespace anelane
