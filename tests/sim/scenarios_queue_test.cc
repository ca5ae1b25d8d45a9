// Scenarios about the compile queue, on the virtual clock. T0 = 0, costs in seconds as predicted.
#include "scenario.h"

namespace anelane::sim {
namespace {

// A model of one rung that costs exactly what is predicted.
std::string costs(const std::string& name, double seconds, const std::string& more = "") {
  const std::string ms = std::to_string(static_cast<long>(seconds * 1000));
  return R"({"name":")" + name + R"(","layers":4,"ladder":[128],"seed_ms":{"128":)" + ms +
         R"(},"true_ms":{"128":)" + ms + "}" + (more.empty() ? "" : "," + more) + "}";
}
std::string ask(double t, int id, const std::string& model, const std::string& more = "") {
  return R"({"t":)" + std::to_string(static_cast<long>(t * 1000)) + R"(,"op":"request","id":)" +
         std::to_string(id) + R"(,"model":")" + model + R"(","shape":128)" +
         (more.empty() ? "" : "," + more) + "}";
}

TEST(Queue, S202_S203_KnownCostsSettleUnknownOnesDoNot) {
  const Log log = run_scenario(scene("", costs("A", 10) + "," + mock("B"), ask(5, 1, "A"), "6000"));
  EXPECT_EQ(log.front(), "5050 admit_start A:128");
  const Log unknown = run_scenario(scene("", mock("B"), ask(5, 1, "B"), "6000"));
  EXPECT_EQ(unknown.front(), "5000 admit_start B:128");
}

TEST(Queue, S205_OrderAtTheGate) {
  const Log log = run_scenario(scene("",
                                     costs("X", 200) + "," + costs("W", 100) + "," + costs("a", 4) + "," +
                                         costs("b", 4) + "," + costs("c", 1),
                                     ask(0, 1, "X") + "," + ask(0.1, 2, "W") + "," + ask(95, 3, "a") + "," +
                                         ask(97, 4, "b") + "," + ask(101, 5, "c")));
  EXPECT_TRUE(has(log, "200050 admit_start a:128"));
  EXPECT_TRUE(has(log, "204050 admit_start W:128"));
  EXPECT_TRUE(has(log, "304050 admit_start b:128"));
  EXPECT_TRUE(has(log, "308050 admit_start c:128"));
}

TEST(Queue, S206_AWideCompileIsPassedForItsOwnCostAndNoLonger) {
  std::string models = costs("W", 100), events = ask(0.1, 1, "W");
  for (int i = 0; i < 120; ++i) {
    const std::string name = "s" + std::to_string(i);
    models += "," + costs(name, 1);
    events += "," + ask(i, 10 + i, name, R"("hold_ms":1)");
  }
  const Log log = run_scenario(scene(R"("shapes_total":8)", models, events));
  double started = -1;
  for (const std::string& line : log)
    if (line.ends_with("admit_start W:128")) started = std::stod(line) / 1000;
  EXPECT_GE(started, 0);
  EXPECT_LE(started, 100.1 + 1.1);
}

TEST(Queue, S208_NoTwoCompilesOverlapAndResidentInferenceGoesOn) {
  std::string models, events;
  for (int i = 0; i < 3; ++i) {
    models += (i > 0 ? "," : "") + mock(std::string(1, static_cast<char>('A' + i)));
    const std::string model(1, static_cast<char>('A' + i));
    for (const char* shape : {"256", "512"})
      events += std::string(events.empty() ? "" : ",") + R"({"t":3500,"op":"request","id":)" +
                std::to_string(10 * i + std::stoi(shape)) + R"(,"model":")" + model + R"(","shape":)" +
                shape + "}";
  }
  const Log log =
      run_scenario(scene("", models,
                         ask(0, 1, "A", R"("hold_ms":10)") + "," + events + "," +
                             R"({"t":5600,"op":"request","id":2,"model":"A","shape":128,"hold_ms":10})",
                         "12000"));
  int running = 0;
  for (const std::string& line : log) {
    running += line.find("admit_start") != std::string::npos ? 1
               : line.find("admit_end") != std::string::npos ? -1
                                                             : 0;
    EXPECT_LE(running, 1);
  }
  EXPECT_EQ(count(log, "admit_end"), 7u);
  EXPECT_TRUE(has(log, "5600 grant #2"));
}

TEST(Queue, S211_OnlyTheHeadEvicts) {
  const Log log =
      run_scenario(scene(R"("executable_budget":8)", mock("A") + "," + costs("H", 5) + "," + costs("N", 50),
                         R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":1100,"op":"request","id":2,"model":"A","shape":256,"hold_ms":10},)" +
                             ask(3, 3, "H") + "," + ask(3, 4, "N"),
                         "4000"));
  EXPECT_EQ(count(log, "evict_start"), 1u);
  EXPECT_TRUE(has(log, "3070 admit_start H:128"));
}

TEST(Queue, S213_S214_S217_S218_PromisesAndWhatBecomesOfThem) {
  const std::string models = costs("X", 120) + "," + costs("Y", 30);
  const std::string start = ask(0, 1, "X") + "," + ask(10.05, 2, "Y", R"("deadline":70000)");
  Log log = run_scenario(scene("", models, start + "," + ask(151, 3, "Y")));
  EXPECT_TRUE(has(log, "10050 answer #2 SHAPE_COMPILING 140000"));
  EXPECT_TRUE(has(log, "150050 admit_end Y:128 compiled"));
  EXPECT_TRUE(has(log, "151000 grant #3"));
  EXPECT_EQ(count(log, "admit_start Y"), 1u);
  // The compile before it never ends in time: the promise runs out, or is renewed.
  const std::string stuck =
      R"({"name":"X","layers":4,"ladder":[128],"seed_ms":{"128":120000},"true_ms":{"128":500000}},)" +
      costs("Y", 30);
  log = run_scenario(scene("", stuck, start));
  EXPECT_TRUE(has(log, "290050 drop Y:128"));
  log = run_scenario(scene("", stuck, start + "," + ask(100.05, 3, "Y", R"("deadline":101000)")));
  EXPECT_TRUE(has(log, "100050 answer #3 SHAPE_COMPILING 50000"));
  EXPECT_TRUE(has(log, "200050 drop Y:128"));
}

TEST(Queue, S215_TheAdmissionBoundIsJudgedLikeADeadline) {
  Log log = run_scenario(
      scene("", costs("X", 500) + "," + costs("Y", 101), ask(0, 1, "X") + "," + ask(0.05, 2, "Y"), "1000"));
  EXPECT_TRUE(has(log, "50 answer #2 SHAPE_COMPILING 601000"));
  log = run_scenario(
      scene("", costs("X", 500) + "," + costs("Y", 99), ask(0, 1, "X") + "," + ask(0.05, 2, "Y"), "1000"));
  EXPECT_EQ(count(log, "answer"), 0u);
}

TEST(Queue, S220_RetireDropsAtOnceOthersAreUnaffected) {
  const Log log = run_scenario(scene("", mock("A") + "," + mock("B") + "," + mock("C"),
                                     ask(0, 1, "A") + "," + ask(0.1, 2, "B") + "," + ask(0.2, 3, "C") +
                                         R"(,{"t":500,"op":"retire","model":"B"})",
                                     "3000"));
  for (const char* line : {"500 answer #2 RETIRED", "500 drop B:128", "500 exit B", "500 retired B",
                           "1000 admit_start C:128", "2000 grant #3"})
    EXPECT_TRUE(has(log, line)) << line;
}

TEST(Queue, S221_NoOvertakingAtAnAcceptedRequestsCost) {
  for (const int cost : {20, 9}) {
    const Log log =
        run_scenario(scene("", costs("B", 500) + "," + costs("X", 90) + "," + costs("Y", cost),
                           ask(0, 1, "B") + "," + ask(0.05, 2, "X") + "," + ask(1, 3, "Y"), "500100"));
    EXPECT_TRUE(has(log, cost == 20 ? "500050 admit_start X:128" : "500050 admit_start Y:128"));
  }
}

TEST(Queue, S223_AtTheBackstopTheAnswerIsAFreshPrediction) {
  const Log log = run_scenario(
      scene("",
            R"({"name":"X","layers":4,"ladder":[128],"seed_ms":{"128":300000},"true_ms":{"128":900000}},)" +
                costs("Y", 20),
            ask(0, 1, "X") + "," + ask(1, 2, "Y"), "700000"));
  EXPECT_TRUE(has(log, "601000 answer #2 SHAPE_COMPILING 20000"));
}

TEST(Queue, S224_S226_S227_S230_WhatIsLearned) {
  // A compiles in half the predicted time, after 95 ms of stream wait; then B's prediction is halved.
  const std::string models =
      R"({"name":"A","layers":22,"ladder":[128,256],"seed_ms":{"256":11000},"true_ms":{"128":100,"256":5500}},
         {"name":"B","layers":4,"ladder":[128],"seed_ms":{"128":40000},"true_ms":{"128":40000}})";
  const std::string events = R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":1000},
                                {"t":200,"op":"request","id":2,"model":"A","shape":256})";
  Log log = run_scenario(scene("", models, events + "," + ask(10, 3, "B", R"("deadline":10001)"), "11000"));
  EXPECT_TRUE(has(log, "10000 answer #3 SHAPE_COMPILING 20050"));
  // A failed compile teaches nothing.
  log = run_scenario(scene(
      "", models,
      R"({"t":0,"op":"fault","model":"A","kind":"error"},{"t":1,"op":"fault","model":"A","kind":"error"},)" +
          events + "," + ask(10, 3, "B", R"("deadline":10001)"),
      "11000"));
  EXPECT_TRUE(has(log, "10000 answer #3 SHAPE_COMPILING 40050"));
}

TEST(Queue, S232_S233_LoadsAreRepricedWhenTheyTakeTooLong) {
  const std::string models =
      R"({"name":"A","layers":25,"ladder":[128],"seed_ms":{"128":10000},"true_ms":{"128":10000},"cached":[128]},)" +
      costs("B", 5);
  const Log log =
      run_scenario(scene("", models,
                         R"({"t":0,"op":"uncache","model":"A","shape":128},)" + ask(0, 1, "A") + "," +
                             ask(2.049, 2, "B", R"("deadline":9000)") + "," + ask(3, 3, "B"),
                         "16000"));
  EXPECT_TRUE(has(log, "50 admit_start A:128"));
  EXPECT_TRUE(has(log, "2050 answer #2 SHAPE_COMPILING 13000"));
  EXPECT_TRUE(has(log, "10050 admit_end A:128 compiled"));
  EXPECT_TRUE(has(log, "10050 admit_start B:128"));
}

TEST(Queue, S235_AWorkerWithoutCountsIsPredictedAsCompiling) {
  const Log log = run_scenario(
      scene("",
            R"({"name":"A","layers":4,"ladder":[128],"seed_ms":{"128":9000},"true_ms":{"128":9000},
                                         "cached":[128],"true_load_ms":{"128":95},"reports_cache":false},)" +
                costs("B", 9),
            ask(0, 1, "A") + "," + ask(0.05, 2, "B", R"("deadline":60000)"), "30000"));
  EXPECT_TRUE(has(log, "145 admit_end A:128 compiled"));
  EXPECT_TRUE(has(log, "145 admit_start B:128"));
}

TEST(Queue, S242_OneCompileForTwoRequestsEachWithItsOwnBound) {
  const Log log = run_scenario(
      scene("",
            R"({"name":"X","layers":4,"ladder":[128],"seed_ms":{"128":5000},"true_ms":{"128":9000}},)" +
                costs("Y", 2),
            ask(0, 1, "X") + "," + ask(1, 2, "Y", R"("deadline":8000)") + "," + ask(2, 3, "Y"), "20000"));
  EXPECT_TRUE(has(log, "8000 answer #2 SHAPE_COMPILING 2000"));
  EXPECT_TRUE(has(log, "11050 grant #3"));
  EXPECT_EQ(count(log, "admit_start Y"), 1u);
}

TEST(Queue, S250_SmallBesideWide) {
  const Log log =
      run_scenario(scene("", costs("W", 100) + "," + costs("S", 5), ask(0, 1, "W") + "," + ask(0, 2, "S")));
  EXPECT_TRUE(has(log, "5050 grant #2"));
  EXPECT_TRUE(has(log, "105050 grant #1"));
}

TEST(Queue, L4_1_ALoadRunsBesideACompileUnlessThereIsOneGate) {
  for (const bool parallel : {true, false}) {
    const Log log =
        run_scenario(scene(std::string(R"("parallel_load":)") + (parallel ? "true" : "false"),
                           costs("A", 10) + "," + costs("B", 9, R"("cached":[128],"load_ms":{"128":100})"),
                           ask(0, 1, "A") + "," + ask(1, 2, "B"), "20000"));
    EXPECT_TRUE(has(log, parallel ? "1050 admit_start B:128" : "10050 admit_start B:128"));
  }
}

}  // namespace
}  // namespace anelane::sim
