// The workload format: what it refuses, and that writing and reading agree.
#include "workload.h"

#include "scenario.h"
#include "trial.h"

namespace anelane::sim {
namespace {

TEST(Workload, BadInputIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"anelane_history\":1,\"options\":{}}\n{\"worker\":1}\n", "f.json: this is a lane's record"},
      {R"({"models":[{"layers":1}]})", "models[0]: has no name"},
      {R"({"models":[{"name":"A"}]})", "models[0]: layers must be at least 1"},
      {R"({"models":[{"name":"A","layers":1,"ladder":[256,128]}]})", "strictly ascending"},
      {R"({"models":[],"events":[{"t":0,"op":"jump"}]})", "no model is called"},
      {R"({"models":[{"name":"A","layers":1}],"events":[{"t":0,"op":"jump","model":"A"}]})",
       "events[0]: op must be"},
      {R"({"models":[{"name":"A","layers":1}],"events":[{"t":"x","op":"cancel"}]})",
       "events[0].t: expected a time"},
      {R"({"models":[{"name":"A","layers":1}],"events":[{"t":0,"op":"request","model":"A","shape":100}]})",
       "not on the ladder"},
      {R"({"models":[{"name":"A","layers":1}],"events":[{"t":0,"op":"request","model":"A","shape":128}]})",
       "how long this shape takes"}};
  for (const auto& [text, part] : cases) {
    const Result<Workload> w = parse_workload(text, "f.json");
    ASSERT_FALSE(w.ok()) << text;
    EXPECT_NE(w.status().message().find(part), std::string::npos) << w.status().message();
  }
}

TEST(Workload, WritingAndReadingGiveTheSameHistory) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Draws draws(seed);
    const Workload drawn = draw_world(draws, 150, true).workload;
    const Result<Workload> read = parse_workload(to_json(drawn), "written");
    ASSERT_TRUE(read.ok()) << read.status().message();
    World a(drawn), b(*read);
    a.run();
    b.run();
    EXPECT_EQ(hash_lines(a.log()), hash_lines(b.log())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace anelane::sim
