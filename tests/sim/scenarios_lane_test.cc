// Scenarios about a whole lane: several models at once, the counts of a day, packed programs, restarts.
#include <map>
#include <set>

#include "scenario.h"

namespace anelane::sim {
namespace {

// A model of `rungs` rungs whose compiles take 300 ms, 4 executables a shape.
std::string seven(const std::string& name) {
  std::string ladder, truth;
  for (int shape = 128; shape <= 8192; shape *= 2) {
    ladder += (ladder.empty() ? "" : ",") + std::to_string(shape);
    truth += (truth.empty() ? "\"" : ",\"") + std::to_string(shape) + "\":300";
  }
  return R"({"name":")" + name + R"(","layers":4,"ladder":[)" + ladder + R"(],"true_ms":{)" + truth + "}}";
}
std::string exchange(int t, int id, const std::string& model, int shape, int hold = 5) {
  return R"({"t":)" + std::to_string(t) + R"(,"op":"request","id":)" + std::to_string(id) + R"(,"model":")" +
         model + R"(","shape":)" + std::to_string(shape) + R"(,"hold_ms":)" + std::to_string(hold) + "}";
}

// What a worker and an observer of the lane count.
struct Counts {
  size_t most_of_one_model = 0, most = 0;
};
Counts count_residency(const Log& log) {
  Counts c;
  std::map<std::string, std::set<std::string>> resident;  // by model, shapes
  for (const std::string& line : log) {
    const size_t name = line.rfind(' ', line.find(':'));
    if (line.find("admit_end") == std::string::npos && line.find("evict_") == std::string::npos) continue;
    const std::string slot = line.substr(name + 1, line.find(' ', name + 1) - name - 1);
    const std::string model = slot.substr(0, slot.find(':'));
    if (line.find("admit_end") != std::string::npos) resident[model].insert(slot);
    if (line.find("evict_end") != std::string::npos) resident[model].erase(slot);
    size_t all = 0;
    for (const auto& [m, shapes] : resident) {
      c.most_of_one_model = std::max(c.most_of_one_model, shapes.size());
      all += shapes.size();
    }
    c.most = std::max(c.most, all);
  }
  return c;
}

TEST(Lane, S005_FourModelsOfSevenShapesAtOnceAllFinishWithinTheLimits) {
  const char* names[] = {"gte-embed", "gte-rerank", "qwen-embed", "qwen-rerank"};
  std::string models, events;
  int id = 0;
  for (const char* name : names) {
    models += (models.empty() ? "" : ",") + seven(name);
    for (int shape = 128; shape <= 8192; shape *= 2)
      events += (events.empty() ? "" : ",") + exchange(0, ++id, name, shape);
  }
  for (int embed = 0; embed < 8; ++embed)
    for (const int shape : {128, 256}) events += "," + exchange(0, ++id, names[0], shape);
  for (const int shape : {128, 512, 2048}) events += "," + exchange(0, ++id, names[1], shape);
  const Log log = run_scenario(scene("", models, events, "60000"));
  EXPECT_EQ(count(log, "release"), static_cast<size_t>(id));
  EXPECT_EQ(count(log, "answer") + count(log, "exit") + count(log, "fault"), 0u);
  const Counts c = count_residency(log);
  EXPECT_LE(c.most_of_one_model, 4u);
  EXPECT_EQ(c.most, 8u);
  EXPECT_GE(count(log, "evict_end"), 1u);
}

TEST(Lane, S097_ThirtySevenRequestsOverThreePoolRungs) {
  std::string models, events;
  int id = 0;
  for (const char* name : {"A", "B", "C"}) models += (models.empty() ? "" : ",") + seven(name);
  for (int i = 0; i < 37; ++i) {
    const int shape = 128 << 2 * (i % 3);
    events += (events.empty() ? "" : ",") +
              exchange(i * 40, ++id, std::string(1, static_cast<char>('A' + i % 5 % 3)), shape, 20);
  }
  const Log log = run_scenario(scene("", models, events, "60000"));
  EXPECT_EQ(count(log, "release"), 37u);
  EXPECT_EQ(count(log, "answer") + count(log, "refused") + count(log, "exit"), 0u);
  const Counts c = count_residency(log);
  EXPECT_LE(c.most_of_one_model, 4u);
  EXPECT_LE(c.most, 8u);
  EXPECT_EQ(count(log, "admit_end"), count(log, "evict_end") + 8);  // samples = admitted + evicted, 8 stay
}

TEST(Lane, S023_AWaitThatEndsWithoutAnAdmissionLastsItsBound) {
  const std::string quick = R"({"name":"A","layers":4,"ladder":[128,256],"true_ms":{"128":5,"256":5}})";
  const Log log = run_scenario(scene(R"("executable_budget":4,"admission_bound_ms":20)", quick,
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                        {"t":10,"op":"request","id":2,"model":"A","shape":256})",
                                     "100"));
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "5 admit_end A:128 compiled", "5 grant #1",
                      "30 answer #2 RESOURCES_EXHAUSTED 250", "30 drop A:256"}));
}

TEST(Lane, S067_AdmissionsEvictionsAndRestartsOfADay) {
  const Log log = run_scenario(
      scene(R"("executable_budget":4)", mock("A"),
            exchange(0, 1, "A", 128) + "," + exchange(2000, 2, "A", 256) +
                R"(,{"t":4000,"op":"fault","model":"A","kind":"crash","exit_after_ms":10,"restart_ms":10},)" +
                exchange(5000, 3, "A", 256),
            "9000"));
  EXPECT_EQ(count(log, "admit_end"), 3u);
  EXPECT_EQ(count(log, "admit_end A:256"), 2u);
  EXPECT_EQ(count(log, "evict_end"), 1u);
  EXPECT_EQ(count(log, "ready"), 1u);
}

// A scene in which some requests prepare packed programs; the workload format cannot say so.
Log run_packed(const std::string& text, const std::set<uint64_t>& packed) {
  Result<Workload> workload = parse_workload(text, "scenario");
  if (!workload.ok()) {
    ADD_FAILURE() << workload.status().message();
    return {};
  }
  for (Happening& h : workload->happenings)
    if (h.op == Op::kRequest && packed.contains(h.id)) h.packed = h.no_pin = true;
  return run_scenario(*workload);
}

TEST(Lane, S259_APackedPreparationWaitsForARunningPrewarmAndPrecedesTheNextRung) {
  const std::string model =
      R"({"name":"A","layers":22,"ladder":[128,256,512,1024],"true_ms":{"128":1000,"256":1000,"512":1000,"1024":1000},"prewarm":true})";
  const std::string ask = R"({"t":500,"op":"request","id":1,"model":"A","shape":1024})";
  Log log = run_packed(scene("", model, ask, "9000"), {1});
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled", "1000 admit_start A:1024",
                      "2000 admit_end A:1024 compiled", "2000 answer #1 OK", "2000 admit_start A:256",
                      "3000 admit_end A:256 compiled", "3000 admit_start A:512",
                      "4000 admit_end A:512 compiled", "4000 prewarm_end A [128,256,512] [] []"}));
  // Also for the budget that the running one holds: it is tried again when that one ends.
  log = run_packed(scene(R"("executable_budget":22)", model, ask, "2500"), {1});
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled", "1000 evict_start A:128",
                      "1020 evict_end A:128", "1020 admit_start A:1024", "2020 admit_end A:1024 compiled",
                      "2020 answer #1 OK", "2020 prewarm_end A [128] [] [256,512]"}));
}

TEST(Lane, S229_APackedProgramIsNotLearned) {
  const std::string models =
      R"({"name":"A","layers":4,"ladder":[128],"seed_ms":{"128":10000},"true_ms":{"128":5000}},
         {"name":"B","layers":4,"ladder":[128],"seed_ms":{"128":40000}})";
  const std::string events =
      R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
         {"t":6000,"op":"request","id":2,"model":"B","shape":128,"deadline":6001})";
  EXPECT_TRUE(has(run_packed(scene("", models, events, "7000"), {}), "6000 answer #2 SHAPE_COMPILING 20050"));
  EXPECT_TRUE(
      has(run_packed(scene("", models, events, "7000"), {1}), "6000 answer #2 SHAPE_COMPILING 40050"));
}

TEST(Lane, L7_1_RetiredBetweenExitAndReplacementThereIsNoProcessThatCouldExit) {
  const Log log = run_scenario(
      scene("", mock("A"),
            R"({"t":0,"op":"fault","model":"A","kind":"crash","exit_after_ms":100,"restart_ms":1000},
         {"t":500,"op":"retire","model":"A"})",
            "9000"));
  EXPECT_EQ(log, (Log{"0 fault A", "100 exit A", "500 retired A"}));
}

TEST(Lane, L4_15_APlannedRestartTakesNoneOfACrashsTime) {
  const std::string refuse = R"({"t":4000,"op":"fault","model":"A","kind":"refuse"},)";
  const Log log = run_scenario(
      scene("", mock("A"),
            R"({"t":0,"op":"fault","model":"A","kind":"crash","exit_after_ms":100,"restart_ms":1000},)" +
                exchange(1500, 1, "A", 256) + "," + refuse + refuse + exchange(4000, 2, "A", 512),
            "9000"));
  EXPECT_TRUE(has(log, "1100 ready A"));
  EXPECT_TRUE(has(log, "4520 answer #2 RESOURCES_EXHAUSTED 250"));
  EXPECT_TRUE(has(log, "4520 exit A"));
  EXPECT_TRUE(has(log, "4520 ready A"));
}

}  // namespace
}  // namespace anelane::sim
