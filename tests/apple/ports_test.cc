// Ports as modelAttributes tell them, and what comes of attributes that are not what they should be.
#include <gtest/gtest.h>

#include "cache/program_loader.h"
#include "on_standin.h"

namespace anelane {
namespace {

Result<std::unique_ptr<LoadedProgram>> compiled(Engine& engine, const Program& program) {
  const std::string id = engine.identify(program);
  ANELANE_TRY(engine.compile(id, program));
  return engine.load_program(id, program);
}

TEST(Ports, TwoPortsAreInTheOrderOfTheirNamesWhateverWasDeclared) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine);
                            const auto program = compiled(*engine, two_ports());
                            ASSERT_TRUE(program.ok()) << program.status().message();
                            ASSERT_EQ((*program)->inputs().size(), 2u);
                            EXPECT_EQ((*program)->inputs()[0].name, "a10");
                            EXPECT_EQ((*program)->inputs()[1].name, "a2");
                            EXPECT_EQ((*program)->outputs()[0].name, "z_a");
                            EXPECT_EQ((*program)->outputs()[1].name, "z_b");
                          }),
            0);
}

TEST(Ports, RowsArePaddedTo64Bytes) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine);
                            const auto program = compiled(*engine, doubling(1, 40));
                            ASSERT_TRUE(program.ok());
                            const Port& port = (*program)->inputs()[0];
                            EXPECT_EQ(port.dtype, Dtype::kF16);
                            EXPECT_EQ(port.dims, (std::vector<uint64_t>{1, 32, 1, 40}));
                            EXPECT_EQ(port.strides, (std::vector<uint64_t>{32 * 128, 128, 128, 2}));
                            EXPECT_EQ(port.bytes, 32u * 128);
                            // What a caller leaves in the padding does not reach the engine, and its poison
                            // not the caller.
                            std::vector<uint8_t> in(port.bytes, 0x3c), out(port.bytes, 0x77);
                            const Buffer from{in.data(), in.size()}, to{out.data(), out.size()};
                            ASSERT_TRUE((*program)->run(std::span(&from, 1), std::span(&to, 1)).ok());
                            for (size_t at = 0; at < out.size(); ++at)
                              if (at % 128 >= 80) {
                                ASSERT_EQ(out[at], 0) << at;
                              }
                          }),
            0);
}

TEST(Ports, SurfacesAreLargeEnoughAndRoundedUp) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine);
                            for (const auto& [wanted, given] : {std::pair<uint64_t, uint64_t>{1, 48u << 10},
                                                                {48u << 10, 48u << 10},
                                                                {(48u << 10) + 1, 64u << 10},
                                                                {1'000'000, 1'015'808}}) {
                              const auto memory = engine->allocate(wanted);
                              ASSERT_TRUE(memory.ok());
                              const Buffer buffer = (*memory)->buffer();
                              EXPECT_EQ(buffer.bytes, given);
                              ASSERT_TRUE((*memory)->begin_access(EngineMemory::Access::kRead).ok());
                              const auto* bytes = static_cast<const uint8_t*>(buffer.data);
                              for (uint64_t i = 0; i < given; ++i)
                                ASSERT_EQ(bytes[i], 0) << "the stand-in gives fresh ones rubbish";
                              ASSERT_TRUE((*memory)->end_access(EngineMemory::Access::kRead).ok());
                            }
                            EXPECT_EQ(engine->allocate(uint64_t{5} << 30).status().code(),
                                      Code::kOutOfMemory);
                          }),
            0);
}

TEST(Ports, AbsentStridesFollowFromTheExtents) {
  Machine machine;
  machine.knobs["attributes"] = "zero_strides";
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine);
                            const auto program = compiled(*engine, doubling(1, 64));
                            ASSERT_TRUE(program.ok()) << program.status().message();
                            EXPECT_EQ((*program)->inputs()[0].bytes, 32u * 128);
                            EXPECT_EQ((*program)->inputs()[0].strides[2], 128u);
                          }),
            0);
}

TEST(Ports, SpoiltAttributesAreAnErrorThatNamesTheMemberAndUnloads) {
  for (const char* spoilt :
       {"ANEFModelDescription", "kANEFModelInputSymbolsArrayKey", "kANEFModelOutputSymbolsArrayKey",
        "ANEFModelProcedures", "ANEFModelInputSymbolIndexArray", "ANEFModelOutputSymbolIndexArray",
        "NetworkStatusList", "LiveInputList", "LiveOutputList", "Type"})
    for (const char* how : {"drop:", "string:"}) {
      if (std::string(how) == "string:" && std::string(spoilt) == "Type") continue;  // it is one
      Machine machine;
      machine.knobs["attributes"] = std::string(how) + spoilt;
      EXPECT_EQ(
          in_process_on(machine,
                        [&] {
                          for (const char* route : {"in-memory", "client"}) {
                            const auto engine = engine_on(machine, route);
                            const auto program = compiled(*engine, doubling());
                            ASSERT_FALSE(program.ok()) << how << spoilt;
                            EXPECT_NE(program.status().message().find("not understood"), std::string::npos)
                                << program.status().message();
                            EXPECT_EQ(counters().programs_alive, 0);
                          }
                        }),
          0)
          << how << spoilt;
    }
}

TEST(Ports, NumbersThatAreStringsAreNotBelieved) {
  for (const char* key : {"Width", "Channels", "RowStride", "PlaneStride", "BatchStride", "Interleave"}) {
    Machine machine;
    machine.knobs["attributes"] = std::string("string:") + key;
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              const auto engine = engine_on(machine);
                              const auto program = compiled(*engine, doubling());
                              ASSERT_FALSE(program.ok()) << key;
                              EXPECT_NE(program.status().message().find(key), std::string::npos)
                                  << program.status().message();
                            }),
              0);
  }
}

}  // namespace
}  // namespace anelane
