// Which engine a worker gets, on a machine that has the framework: linked with the stand-in's
// default_apple_options().
#include <gtest/gtest.h>

#include <cstdlib>

#include "ane_direct/apple/doctor_marker.h"
#include "on_standin.h"
#include "worker/engine_choice.h"

namespace anelane {
namespace {

worker::InitBody init_of(const Machine& machine, const char* engine, bool in_host) {
  worker::InitBody init;
  init.engine = engine;
  init.cache_dir = machine.cache();
  init.in_host = in_host;
  return init;
}

std::string chosen(const worker::InitBody& init) {
  const auto engine = worker::choose_engine(init);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? (*engine)->info().name : "";
}

TEST(EngineChoice, AProcessTakesWhatItIsToldAndAutoTakesApple) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            EXPECT_EQ(chosen(init_of(machine, "apple", false)), "apple");
                            EXPECT_EQ(chosen(init_of(machine, "soft", false)), "soft");
                            EXPECT_EQ(chosen(init_of(machine, "auto", false)), "apple");
                            EXPECT_EQ(worker::choose_engine(init_of(machine, "warp", false)).status().code(),
                                      Code::kInvalidArgument);
                          }),
            0);
}

TEST(EngineChoice, ThreadModeNeedsADoctorOfThisBuildFirst) {
  const Machine machine;
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            ::setenv("HOME", machine.folder.file("home").c_str(), 1);
                            const Status refused =
                                worker::choose_engine(init_of(machine, "apple", true)).status();
                            EXPECT_EQ(refused.code(), Code::kUnsupported);
                            EXPECT_NE(refused.message().find("anelane doctor"), std::string::npos)
                                << refused.message();
                            EXPECT_EQ(chosen(init_of(machine, "auto", true)), "soft");
                            ASSERT_TRUE(apple::mark_doctor_passed("25A1").ok());
                            EXPECT_EQ(worker::choose_engine(init_of(machine, "apple", true)).status().code(),
                                      Code::kUnsupported)
                                << "of another build";
                            ASSERT_TRUE(apple::mark_doctor_passed("26A434").ok());
                            EXPECT_EQ(chosen(init_of(machine, "apple", true)), "apple");
                            EXPECT_EQ(chosen(init_of(machine, "auto", true)), "apple");
                          }),
            0);
}

TEST(EngineChoice, RouteAndDialectComeWithInit) {
  const Machine machine("26");
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            worker::InitBody init = init_of(machine, "apple", false);
                            init.apple_route = "client";
                            init.mil_dialect = "ios16";
                            const auto engine = worker::choose_engine(init);
                            ASSERT_TRUE(engine.ok());
                            EXPECT_EQ((*engine)->info().dialect, MilDialect::kIos16);
                            init.apple_route = "by sea";
                            EXPECT_EQ(worker::choose_engine(init).status().code(), Code::kInvalidArgument);
                          }),
            0);
}

}  // namespace
}  // namespace anelane
