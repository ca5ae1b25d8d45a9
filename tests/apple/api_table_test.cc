// Every class, method and encoding of the table is missed when it is missing, and the other route goes on.
#include "ane_direct/apple/api_table.h"

#include <gtest/gtest.h>

#include <set>

#include "on_standin.h"

namespace anelane {
namespace {

using apple::ApiRow;
using apple::Need;

const char* route_of(const ApiRow& row) {
  return row.need == Need::kClient ? "client" : "in-memory";
}

// What the engine says on a machine that is spoilt in one way.
std::string refusal(const Machine& machine, const std::string& route) {
  const Result<std::unique_ptr<Engine>> engine = make_apple_engine(options_on(machine, route));
  EXPECT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), Code::kEngineUnavailable) << engine.status().message();
  return engine.status().message();
}

template <class Body>
void for_each_row(const Body& body) {
  for (size_t i = 0; i < apple::kFnCount; ++i) body(apple::api_row(static_cast<apple::Fn>(i)));
}

TEST(ApiTable, BothGenerationsHaveAllOfIt) {
  for (const char* system : {"26", "27"})
    for (const char* route : {"in-memory", "client"}) {
      const Machine machine(system);
      EXPECT_EQ(in_process_on(machine, [&] { EXPECT_NE(engine_on(machine, route), nullptr); }), 0);
    }
}

TEST(ApiTable, AMissingClassIsNamed) {
  std::set<std::string> classes;
  for_each_row([&](const ApiRow& row) {
    if (!classes.insert(row.class_name).second) return;
    Machine machine;
    machine.knobs["hide_class"] = row.class_name;
    EXPECT_EQ(
        in_process_on(machine,
                      [&] {
                        const std::string text = refusal(machine, route_of(row));
                        EXPECT_NE(text.find(std::string("no class ") + row.class_name), std::string::npos)
                            << text;
                      }),
        0);
  });
  EXPECT_EQ(classes.size(), 6u);
}

TEST(ApiTable, AMissingMethodIsNamed) {
  for_each_row([&](const ApiRow& row) {
    Machine machine;
    machine.knobs["hide_selector"] = std::string(row.class_name) + "." + row.selector;
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              const std::string text = refusal(machine, route_of(row));
                              EXPECT_NE(text.find(row.class_name), std::string::npos) << text;
                              EXPECT_NE(text.find(row.selector), std::string::npos) << text;
                            }),
              0);
  });
}

TEST(ApiTable, AnotherEncodingIsNamedWithBoth) {
  for_each_row([&](const ApiRow& row) {
    Machine machine;
    machine.knobs["encoding"] = std::string(row.class_name) + "." + row.selector + "=q24@0:8q16";
    EXPECT_EQ(in_process_on(machine,
                            [&] {
                              const std::string text = refusal(machine, route_of(row));
                              EXPECT_NE(text.find(row.selector), std::string::npos) << text;
                              EXPECT_NE(
                                  text.find(std::string("expected encoding ") + row.types + ", found q@:q"),
                                  std::string::npos)
                                  << text;
                            }),
              0);
  });
}

TEST(ApiTable, AutoTakesTheRouteThatIsWhole) {
  Machine machine;
  machine.knobs["hide_class"] = "_ANEInMemoryModel";
  EXPECT_EQ(in_process_on(machine,
                          [&] {
                            const auto engine = engine_on(machine, "auto");
                            const Program program = doubling();
                            ASSERT_TRUE(engine->compile(engine->identify(program), program).ok());
                            EXPECT_FALSE(files_below(machine.cache()).empty())
                                << "the client keeps its sources there";
                          }),
            0);
  Machine other;
  other.knobs["hide_class"] = "_ANEModel";
  EXPECT_EQ(in_process_on(other,
                          [&] {
                            const auto engine = engine_on(other, "auto");
                            const Program program = doubling();
                            ASSERT_TRUE(engine->compile(engine->identify(program), program).ok());
                            EXPECT_TRUE(files_below(other.cache()).empty());
                          }),
            0);
  Machine neither;
  neither.knobs["hide_class"] = "_ANERequest";
  EXPECT_EQ(in_process_on(neither, [&] { refusal(neither, "auto"); }), 0);
}

}  // namespace
}  // namespace anelane
