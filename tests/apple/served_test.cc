// Whole models on the engine "apple" over the stand-in: MiniLM gives the bits of the software engine by every
// way, a full temp folder stops compiles and nothing else, a full pool is survived.
#include "served.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test_model.h"

namespace anelane {
namespace {

const std::vector<std::vector<int32_t>>& sequences() {
  static const std::vector<std::vector<int32_t>> all = {{101, 7592, 2088, 102},
                                                        {101, 102},
                                                        std::vector<int32_t>(128, 2023),
                                                        {101, 1996, 4248, 2829, 4419, 102}};
  return all;
}

struct Way {
  const char *system, *route, *dialect;
};
constexpr Way kWays[] = {{"27", "in-memory", "ios18"}, {"27", "client", "ios18"},
                         {"26", "in-memory", "ios18"}, {"26", "client", "ios18"},
                         {"26", "in-memory", "ios16"}, {"26", "client", "ios16"}};

TEST(MiniLmOnTheStandin, EveryWayGivesTheBitsOfTheSoftwareEngine) {
  constexpr uint32_t kShape = 128;
  const std::string folder = test_model_folder();
  const TempFolder shared;
  // The software engine's, once, in a file: each way has a process of its own.
  std::string expected;
  {
    Served soft(soft_engine(shared.file("soft")), folder);
    ASSERT_TRUE(soft.admit(kShape).ok());
    const std::vector<float> vectors = soft.embed(kShape, sequences());
    const std::vector<uint8_t> hidden = soft.run(kShape);
    expected.assign(reinterpret_cast<const char*>(vectors.data()), vectors.size() * 4);
    expected.append(hidden.begin(), hidden.end());
  }
  for (const Way& way : kWays) {
    const Machine machine(way.system);
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              Served served(engine_on(machine, way.route, way.dialect), folder);
                              EXPECT_EQ(served.report().cached_shapes, std::vector<uint32_t>());
                              const auto admitted = served.admit(kShape);
                              ASSERT_TRUE(admitted.ok()) << admitted.status().message();
                              EXPECT_EQ(admitted->compiled_layers, 6u);
                              const int64_t surfaces = counters().surfaces_alive;
                              EXPECT_EQ(surfaces, 3) << "two that take turns and the mask, for all layers";
                              const std::vector<float> vectors = served.embed(kShape, sequences());
                              EXPECT_EQ(counters().surfaces_alive, surfaces);
                              EXPECT_EQ(counters().evaluates_done, 4 * 6);
                              const std::vector<uint8_t> hidden = served.run(kShape);
                              std::string found(reinterpret_cast<const char*>(vectors.data()),
                                                vectors.size() * 4);
                              found.append(hidden.begin(), hidden.end());
                              EXPECT_TRUE(found == expected);
                              EXPECT_LE(counters().requests_alive, 6 * 3);
                              EXPECT_EQ(served.report().cached_shapes, std::vector<uint32_t>{kShape});
                              served.evict(kShape);
                              EXPECT_EQ(counters().programs_alive, 0);
                              EXPECT_EQ(counters().surfaces_alive, 0);
                              EXPECT_EQ(served.admit(kShape)->cache_hit_layers, 6u);
                            }),
              0)
        << way.system << " " << way.route << " " << way.dialect;
  }
}

class Tiny : public testing::Test {
 protected:
  Tiny() {
    TinyCheckpointOptions options;
    options.layers = 4;
    EXPECT_TRUE(write_tiny_checkpoint(machine_.folder.file("model"), options).ok());
  }
  std::string model() const { return machine_.folder.file("model"); }
  Machine machine_;
};

TEST_F(Tiny, S112_LowTempSpaceStopsTheFirstCompileAndUnloadsWhatWasLoaded) {
  for (const char* route : {"in-memory", "client"}) {
    EXPECT_EQ(in_process_on(machine_,
                            [&] {
                              Served served(engine_on(machine_, route), model());
                              ASSERT_TRUE(served.admit(128).ok());
                            }),
              0);
    EXPECT_EQ(in_process_on(machine_,
                            [&] {
                              Served served(engine_on(machine_, route), model(), uint64_t{1} << 60);
                              ASSERT_TRUE(served.admit(128).ok()) << "a cached load needs no temp space";
                              served.evict(128);
                              // The third layer is held and does not load: it would have to be compiled.
                              set_knob("fail_load", "3:ane:6:Program load failure (0x20004)");
                              const Status status = served.admit(128).status();
                              EXPECT_EQ(status.code(), Code::kTempSpaceLow) << status.message();
                              EXPECT_EQ(counters().programs_alive, 0) << "the first two are unloaded";
                              EXPECT_EQ(counters().compiles, 0);
                              const Status wider = served.admit(256).status();
                              EXPECT_EQ(wider.code(), Code::kTempSpaceLow);
                            }),
              0)
        << route;
  }
}

// The lane's part of L4.15 in the small: refused, evict, try again.
TEST_F(Tiny, AdmittingAndEvicting200TimesAtTheLimitOfAPoolThatAnotherProcessWantsToo) {
  machine_.knobs["pool_limit"] = "10";
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            Served served(engine_on(machine_), model());
                            for (const uint32_t shape : {128u, 256u}) ASSERT_TRUE(served.admit(shape).ok());
                          }),
            0);
  std::fflush(nullptr);
  const pid_t other = ::fork();
  if (other == 0) {
    const int how = in_process_on(machine_, [&] {
      Served served(engine_on(machine_), model());
      for (int i = 0; i < 200; ++i) {
        const auto admitted = served.admit(128);
        if (admitted.ok()) served.evict(128);
        if (!admitted.ok()) {
          EXPECT_EQ(admitted.status().code(), Code::kResourcesExhausted);
        }
      }
    });
    ::_exit(how == 0 ? 0 : 1);
  }
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            Served served(engine_on(machine_), model());
                            const int64_t before = counters().surfaces_alive;
                            uint64_t refusals = 0, admissions = 0;
                            // Bounded against hanging only; every refusal is transient and names its reason.
                            for (int cycle = 0; cycle < 200; ++cycle) {
                              for (const uint32_t shape : {128u, 256u})
                                for (;;) {
                                  const auto admitted = served.admit(shape);
                                  if (admitted.ok()) break;
                                  ASSERT_EQ(admitted.status().code(), Code::kResourcesExhausted)
                                      << admitted.status().message();
                                  ASSERT_TRUE(admitted.status().detail().transient);
                                  ASSERT_LT(++refusals, 1'000'000u);
                                  ::usleep(500);
                                }
                              ++admissions;
                              served.evict(128);
                              served.evict(256);
                              ASSERT_EQ(counters().programs_alive, 0);
                            }
                            EXPECT_EQ(admissions, 200u);
                            EXPECT_EQ(counters().surfaces_alive, before);
                            EXPECT_EQ(counters().compiles, 0) << "a refusal is never a reason to compile";
                            std::printf("[ 200 cycles ] %llu refusals retried\n",
                                        static_cast<unsigned long long>(refusals));
                          }),
            0);
  int how = 0;
  ASSERT_EQ(::waitpid(other, &how, 0), other);
  EXPECT_EQ(how, 0);
  EXPECT_EQ(in_process_on(machine_, [&] { EXPECT_EQ(standin_api().pool_in_use(), 0u); }), 0);
}

TEST_F(Tiny, S091_ARefusalAtTheFourthLayerUnloadsTheThreeBefore) {
  EXPECT_EQ(in_process_on(machine_,
                          [&] {
                            Served served(engine_on(machine_), model());
                            set_knob("fail_load", "4:ane:54:loadModel: no ANE resources (underlying=0x5)");
                            const Status status = served.admit(128).status();
                            EXPECT_EQ(status.code(), Code::kResourcesExhausted);
                            EXPECT_NE(status.message().find("layer 3"), std::string::npos)
                                << status.message();
                            EXPECT_EQ(counters().programs_alive, 0);
                            set_knob("fail_compile", "1:ane:54:no ANE resources");
                            const Status other = served.admit(256).status();
                            EXPECT_EQ(other.code(), Code::kCompileFailed) << other.message();
                            EXPECT_NE(other.message().find("layer 0"), std::string::npos);
                          }),
            0);
}

}  // namespace
}  // namespace anelane
