// The engine "apple" on the stand-in, in both system generations, by both routes and in both dialects: the
// bits of the software engine, and every trap of the framework that our code must step around.
//
// What the framework does to careless callers, and the tests that hold us to each rule, by the start of their
// names. "always" is the end of every process of these tests (on_standin.cc). Each was seen to fail with its
// rule broken in src/ane_direct/apple.
// clang-format off
//
//   the wrapper writes neither model.mil nor the weights    Generations.GivesTheBits
//   one weight file, the dictionary's very bytes            Generations.GivesTheBits (27 compares)
//   text is NSData; weights and options are never nil       Generations.GivesTheBits (it raises)
//   real files, no links, nothing of others in the folder   unit Staging.LinksAndForeign, ALinkInThePlace
//   TMPDIR is unset or the system's                         Staging.ARedirectedTmpdir, Tmpdir.*
//   setModelURL: is never sent                              what is not in the table cannot be sent
//   what killed processes left is swept by a marker outside Staging.WhatAProcessKilled, unit Staging.*
//   an unload deletes the staged folder, another's too      Staging.AnUnloadElsewhere
//   code 10 by one route, not by the other                  Staging.Code10
//   a pool around every call, compiles most of all          always
//   an NSError dies with its pool                           Errors.EveryStage
//   NO without an NSError                                   Errors.NoReason
//   exceptions                                              Errors.AnException
//   classes, selectors, encodings                           ApiTable.*
//   binding by symbol index                                 Generations.GivesTheBits, Ports.TwoPorts
//   rows of 64 bytes, rubbish in the padding                Ports.RowsArePadded, always
//   sizes and strides from attributes; 16 KiB, 48 KiB       Ports.*
//   fresh surfaces hold rubbish                             Ports.SurfacesAreLargeEnough
//   attributes may be of any kind                           Ports.SpoiltAttributes, Ports.NumbersThat
//   no surface as input and output of one call              Generations.OneBuffer, always
//   surfaces are locked by the CPU, never during a run      always
//   requests are made once                                  Generations.RequestsAreKept
//   a release does not unload                               always
//   an unload may fail                                      Errors.AnUnloadThatFails
//   a descriptor keeps the weights in memory                Generations.TheDescriptorIsDropped
//   the identifier is the one that we compute               Generations.GivesTheBits, AnotherName
//   a load of what is not held compiles and writes files    Cache.AnEntryThatVanishes
//   a held copy that is damaged, empty, gone, unloadable    Cache.ACorrupt, AnEmpty, AnEntry, AHeldProgram
//   a held copy refused for want of room is not compiled    Cache.L8_2_AHeldProgramRefused
//   compile, load, unload, purge one at a time in a process Threads.*
//   15 s after a failed compile                             Errors.AfterAFailedCompile
//   every error of both generations                         unit EngineErrorTable.*, Errors.*
// clang-format on
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "ane_direct/content_id.h"
#include "base/fp16.h"
#include "on_standin.h"

namespace anelane {
namespace {

struct Way {
  const char *system, *route, *dialect;
};

class Generations : public testing::TestWithParam<Way> {
 protected:
  Machine machine_{GetParam().system};
  MilDialect dialect() const { return *find_mil_dialect(GetParam().dialect); }
  std::unique_ptr<Engine> engine() { return engine_on(machine_, GetParam().route, GetParam().dialect); }
  static std::unique_ptr<LoadedProgram> compiled(Engine& engine, const Program& program) {
    const std::string id = engine.identify(program);
    const Status status = engine.compile(id, program);
    EXPECT_TRUE(status.ok()) << status.message();
    auto loaded = engine.load_program(id, program);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok() ? *std::move(loaded) : nullptr;
  }
};
// 27 takes the modern dialect only.
INSTANTIATE_TEST_SUITE_P(Ways, Generations,
                         testing::Values(Way{"27", "in-memory", "ios18"}, Way{"27", "client", "ios18"},
                                         Way{"26", "in-memory", "ios18"}, Way{"26", "client", "ios18"},
                                         Way{"26", "in-memory", "ios16"}, Way{"26", "client", "ios16"}),
                         [](const auto& way) {
                           return std::string("System") + way.param.system +
                                  (way.param.route[0] == 'c' ? "Client" : "InMemory") +
                                  (way.param.dialect[4] == '8' ? "Ios18" : "Ios16");
                         });

TEST_P(Generations, GivesTheBitsOfTheSoftwareEngineFromAnyMemory) {
  EXPECT_EQ(
      in_process_on(machine_,
                    [&] {
                      const auto apple = engine();
                      const auto soft = soft_engine(machine_.folder.file("soft"));
                      for (const Program& program :
                           {doubling(1, 64, dialect()), doubling(0.5, 40, dialect()), two_ports(dialect())}) {
                        const std::string id = apple->identify(program);
                        EXPECT_EQ(id, content_id(program));
                        EXPECT_FALSE(apple->probe_program(id, program));
                        const auto on_apple = compiled(*apple, program), on_soft = compiled(*soft, program);
                        ASSERT_TRUE(on_apple != nullptr && on_soft != nullptr);
                        EXPECT_TRUE(apple->probe_program(id, program));
                        const auto expected = run_program(*soft, *on_soft, false);
                        EXPECT_EQ(run_program(*apple, *on_apple, false), expected);
                        EXPECT_EQ(run_program(*apple, *on_apple, true), expected);
                        EXPECT_EQ(run_program(*apple, *on_apple, false), expected)
                            << "again, with the surfaces it has";
                      }
                      EXPECT_EQ(apple->info().name, "apple");
                      EXPECT_EQ(apple->info().numerics, "hardware");
                      EXPECT_EQ(apple->info().dialect, dialect());
                    }),
      0);
  EXPECT_EQ(files_below(machine_.temp()).size(), GetParam().route[0] == 'c' ? 0u : 1u)
      << "nothing is left in the temp folder but the folder of the locks";
}

TEST_P(Generations, TwoSurfacesTakeTurnsThroughAChainOfLayers) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const auto layer = compiled(*apple, doubling(1, 64, dialect()));
                            ASSERT_NE(layer, nullptr);
                            const uint64_t bytes = layer->inputs()[0].bytes;
                            const std::unique_ptr<EngineMemory> memory[2] = {*apple->allocate(bytes),
                                                                             *apple->allocate(bytes)};
                            const StandinCounters before = counters();
                            for (int step = 0; step < 5; ++step) {
                              const Buffer in = memory[step % 2]->buffer(),
                                           out = memory[(step + 1) % 2]->buffer();
                              ASSERT_TRUE(layer->run(std::span(&in, 1), std::span(&out, 1)).ok());
                            }
                            ASSERT_TRUE(memory[1]->begin_access(EngineMemory::Access::kRead).ok());
                            Half first = 0;
                            std::memcpy(&first, memory[1]->buffer().data, 2);
                            EXPECT_EQ(half_to_float(first), 31.0f)
                                << "0, then five times twice as much and one more";
                            ASSERT_TRUE(memory[1]->end_access(EngineMemory::Access::kRead).ok());
                            EXPECT_EQ(counters().surfaces_alive, before.surfaces_alive)
                                << "no surface but the two: nothing copied";
                          }),
            0);
}

TEST_P(Generations, RequestsAreKeptForEachSetOfSurfacesUpToABound) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const auto layer = compiled(*apple, doubling(1, 64, dialect()));
                            ASSERT_NE(layer, nullptr);
                            const uint64_t bytes = layer->inputs()[0].bytes;
                            std::vector<std::unique_ptr<EngineMemory>> memory;
                            for (int i = 0; i < 12; ++i) memory.push_back(*apple->allocate(bytes));
                            const auto run = [&](size_t from, size_t to) {
                              const Buffer in = memory[from]->buffer(), out = memory[to]->buffer();
                              EXPECT_TRUE(layer->run(std::span(&in, 1), std::span(&out, 1)).ok());
                            };
                            for (int i = 0; i < 10; ++i) {
                              run(0, 1);
                              run(1, 0);
                            }
                            EXPECT_EQ(counters().requests_alive, 2);
                            for (size_t i = 1; i < 12; ++i) run(0, i);
                            EXPECT_EQ(counters().requests_alive, 8);
                          }),
            0);
}

TEST_P(Generations, OneBufferAsInputAndOutputIsRefusedBeforeTheEngineSeesIt) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const auto layer = compiled(*apple, doubling(1, 64, dialect()));
                            ASSERT_NE(layer, nullptr);
                            const auto memory = *apple->allocate(layer->inputs()[0].bytes);
                            const Buffer same = memory->buffer();
                            EXPECT_EQ(layer->run(std::span(&same, 1), std::span(&same, 1)).code(),
                                      Code::kInvalidArgument);
                            Buffer small = same;
                            small.bytes = 64;
                            EXPECT_EQ(layer->run(std::span(&small, 1), std::span(&same, 1)).code(),
                                      Code::kInvalidArgument);
                            EXPECT_EQ(layer->run({}, std::span(&same, 1)).code(), Code::kInvalidArgument);
                            EXPECT_EQ(counters().evaluates, 0);
                          }),
            0);
}

TEST_P(Generations, TheDescriptorIsDroppedAlsoAfterACachedLoad) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            const Program program = doubling(1, 64, dialect());
                            { const auto first = compiled(*apple, program); }
                            const auto again = apple->load_program(apple->identify(program), program);
                            ASSERT_TRUE(again.ok()) << again.status().message();
                            EXPECT_EQ(counters().descriptors_alive, 0);
                            EXPECT_EQ(counters().compiles, 1);
                          }),
            0);
}

TEST_P(Generations, AWrongIdentifierIsRefused) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            const auto apple = engine();
                            EXPECT_EQ(apple->compile(content_id(doubling(3)), doubling(1)).code(),
                                      Code::kInvalidArgument);
                            EXPECT_EQ(counters().compiles, 0);
                          }),
            0);
}

TEST_P(Generations, AnotherNameThanTheFrameworksIsNotLoaded) {
  if (GetParam().route[0] == 'c') return;  // the client names programs itself
  EXPECT_EQ(in_process_on(
                machine_,
                [&] {
                  const auto apple = engine();
                  const Status status = apple->load_program(content_id(doubling(3)), doubling(1)).status();
                  EXPECT_EQ(status.code(), Code::kEngineUnavailable) << status.message();
                  EXPECT_NE(status.message().find(content_id(doubling(1))), std::string::npos) << "found";
                  EXPECT_NE(status.message().find(content_id(doubling(3))), std::string::npos) << "expected";
                }),
            0);
}

// Thread mode: several workers of one process.
TEST(Threads, EnginesOfOneProcessCompileLoadAndUnloadOneAtATime) {
  for (const char* route : {"in-memory", "client"}) {
    Machine machine;
    machine.knobs["stall_compile_ms"] = "5";
    machine.knobs["stall_load_ms"] = "2";
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              std::vector<std::thread> threads;
                              for (int t = 0; t < 3; ++t)
                                threads.emplace_back([&] {
                                  const auto apple = engine_on(machine, route);
                                  for (int i = 0; i < 5; ++i) {
                                    const Program program = doubling(static_cast<float>(1 + i % 3), 64);
                                    const std::string id = apple->identify(program);
                                    (void)apple->compile(id, program);
                                    (void)apple->load_program(id, program);
                                  }
                                });
                              for (std::thread& thread : threads) thread.join();
                              EXPECT_GT(counters().unloads_done, 0);
                            }),
              0);
  }
}

// Between its compile and its load the first holds the program's staging lock, and its load needs the
// process's.
TEST(Threads, WhoWaitsForAnothersStagingDoesNotKeepItFromItsLoad) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const Program program = doubling();
                            const auto first = engine_on(machine, "in-memory");
                            const std::string id = first->identify(program);
                            ASSERT_TRUE(first->compile(id, program).ok());
                            std::thread second([&] {
                              const auto engine = engine_on(machine, "in-memory");
                              EXPECT_TRUE(engine->compile(id, program).ok());
                              EXPECT_TRUE(engine->load_program(id, program).ok());
                            });
                            ::usleep(200'000);  // by then it waits
                            (void)first->load_program(id, program);
                            second.join();
                          }),
            0);
}

TEST(Dialect, TheSystemDecidesUnlessTheOptionDoes) {
  const Machine machine("26");
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            AppleEngineOptions options = options_on(machine);
                            options.os_version = "15.0";
                            EXPECT_EQ((*make_apple_engine(options))->info().dialect, MilDialect::kIos18);
                            options.os_version = "14.7.1";
                            EXPECT_EQ((*make_apple_engine(options))->info().dialect, MilDialect::kIos16);
                            options.mil_dialect = "ios18";
                            EXPECT_EQ((*make_apple_engine(options))->info().dialect, MilDialect::kIos18);
                            options.mil_dialect = "ios17";
                            EXPECT_EQ(make_apple_engine(options).status().code(), Code::kInvalidArgument);
                            options.mil_dialect = "";
                            options.route = "by sea";
                            EXPECT_EQ(make_apple_engine(options).status().code(), Code::kInvalidArgument);
                          }),
            0);
}

}  // namespace
}  // namespace anelane
