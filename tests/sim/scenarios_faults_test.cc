// Scenarios about faults, recovery, retirement and prewarm, on the virtual clock.
#include "scenario.h"

namespace anelane::sim {
namespace {

std::string ask(double t, int id, const std::string& model, int shape = 128, const std::string& more = "") {
  return R"({"t":)" + std::to_string(static_cast<long>(t * 1000)) + R"(,"op":"request","id":)" +
         std::to_string(id) + R"(,"model":")" + model + R"(","shape":)" + std::to_string(shape) +
         (more.empty() ? "" : "," + more) + "}";
}
std::string crash(double t, const std::string& model, const std::string& exit_ms,
                  const std::string& restart_ms = "0") {
  return R"({"t":)" + std::to_string(static_cast<long>(t * 1000)) + R"(,"op":"fault","model":")" + model +
         R"(","kind":"crash")" +
         (exit_ms.empty() ? "" : R"(,"exit_after_ms":)" + exit_ms + R"(,"restart_ms":)" + restart_ms) + "}";
}

TEST(Faults, S035_ACrashDuringInferenceRestartsOnceAndTheNextIsServed) {
  const Log log =
      run_scenario(scene("", mock("A"),
                         ask(0, 1, "A", 128, R"("hold_ms":500)") + "," + crash(1.2, "A", "300", "200") + "," +
                             ask(1.3, 2, "A", 128, R"("hold_ms":10)"),
                         "4000"));
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled", "1000 grant #1", "1200 fault A",
                      "1200 release #1", "1500 exit A", "1700 ready A", "1700 admit_start A:128",
                      "1780 admit_end A:128 loaded", "1780 grant #2", "1790 release #2"}));
}

TEST(Faults, S037_ALostAdmissionAnswersAtTheFaultAndChargesUntilTheExit) {
  const Log log =
      run_scenario(scene(R"("executable_budget":4)", mock("A") + "," + mock("B"),
                         ask(0, 1, "A") + "," + crash(0.1, "A", "5000") + "," + ask(0.2, 2, "B"), "7000"));
  EXPECT_TRUE(has(log, "100 answer #1 ENGINE_CRASHED 1000"));
  EXPECT_TRUE(has(log, "100 admit_end A:128 lost"));
  EXPECT_TRUE(has(log, "5100 exit A"));
  EXPECT_TRUE(has(log, "5100 admit_start B:128"));
}

TEST(Faults, S038_AnEvictionThatIsLostIsServedByTheReplacement) {
  const Log log = run_scenario(
      scene(R"("executable_budget":4)", mock("A", R"("evict_ms":500)"),
            ask(0, 1, "A", 128, R"("hold_ms":10)") + "," + ask(2, 2, "A", 256) + "," + crash(2.1, "A", "400"),
            "6000"));
  EXPECT_TRUE(has(log, "2500 exit A"));
  EXPECT_TRUE(has(log, "2500 admit_start A:256"));
  EXPECT_TRUE(has(log, "3500 grant #2"));
}

TEST(Faults, S040_ALeaseOfTheOldProcessDoesNotOutliveItsExit) {
  const Log log = run_scenario(scene(R"("executable_budget":8)", mock("A"),
                                     ask(0, 1, "A") + "," + crash(1.5, "A", "100") + "," +
                                         ask(1.6, 2, "A", 256) + R"(,{"t":2000,"op":"release","id":1})",
                                     "4000"));
  EXPECT_TRUE(has(log, "1600 exit A"));
  EXPECT_TRUE(has(log, "2600 grant #2"));
  EXPECT_EQ(count(log, "release"), 0u);
}

TEST(Faults, S044_S046_WithoutAConfirmedExitNothingIsReplaced) {
  const Log log =
      run_scenario(scene(R"("exit_timeout_ms":500)", mock("A"),
                         ask(0, 1, "A") + "," + crash(2, "A", "3000", "10") + "," + ask(2.1, 2, "A", 256) +
                             "," + ask(3, 3, "A", 256) + "," + ask(6, 4, "A", 256),
                         "8000"));
  for (const char* line :
       {"2500 answer #2 ENGINE_CRASHED 1000", "2500 drop A:256", "3000 answer #3 ENGINE_CRASHED 1000",
        "5000 exit A", "5010 ready A", "7000 grant #4"})
    EXPECT_TRUE(has(log, line)) << line;
}

TEST(Faults, S236_S239_TheGateIsHeldUntilTheExitAndFreeThenThoughNoReplacementComes) {
  const Log log = run_scenario(
      scene("", mock("A") + "," + mock("B"),
            ask(0, 1, "A") + "," + ask(0.1, 2, "B") + "," + crash(0.5, "A", "2000", "1000000"), "5000"));
  EXPECT_TRUE(has(log, "2500 exit A"));
  EXPECT_TRUE(has(log, "2500 admit_start B:128"));
}

TEST(Faults, L4_13_NeverLongerThan35Seconds) {
  const Log log =
      run_scenario(scene("", mock("A") + "," + mock("B"),
                         ask(0, 1, "A") + "," + ask(0.1, 2, "B") + "," + crash(0.5, "A", ""), "50000"));
  EXPECT_TRUE(has(log, "35500 admit_start B:128"));
}

TEST(Faults, S238_L4_16_AnsweredErrorsFreeTheGateAndAreRememberedWhenDeterministic) {
  const Log log = run_scenario(scene(
      "", mock("A") + "," + mock("B"),
      R"({"t":0,"op":"fault","model":"A","kind":"error","deterministic":true},)" + ask(0, 1, "A") + "," +
          ask(0.1, 2, "B") + "," + ask(10, 3, "A") + "," + ask(15.499, 4, "A") + "," + ask(15.5, 5, "A"),
      "18000"));
  for (const char* line :
       {"500 admit_end A:128 error", "500 answer #1 COMPILE_FAILED", "500 admit_start B:128",
        "10000 answer #3 COMPILE_FAILED", "15499 answer #4 COMPILE_FAILED", "15500 admit_start A:128"})
    EXPECT_TRUE(has(log, line)) << line;
}

TEST(Faults, S050_RetirementDrainsLeasesThenExits) {
  const Log log = run_scenario(scene(
      "", mock("A"), ask(0, 1, "A") + "," + ask(2, 2, "A", 256) + R"(,{"t":2100,"op":"retire","model":"A"},
                                     {"t":5000,"op":"release","id":1})",
      "6000"));
  for (const char* line : {"2100 answer #2 RETIRED", "3000 admit_end A:256 compiled", "5000 release #1",
                           "5000 exit A", "5000 retired A"})
    EXPECT_TRUE(has(log, line)) << line;
  EXPECT_EQ(count(log, "drop"), 0u);  // on the wire: it finishes
}

TEST(Faults, S251_S253_Prewarm) {
  const std::string gte =
      R"({"name":"A","layers":22,"ladder":[128,256,512,1024],"true_ms":{"128":1000,"256":1000,"512":1000,"1024":1000},"prewarm":true})";
  Log log = run_scenario(scene("", gte, "", "9000"));
  EXPECT_EQ(log.back(), "3000 prewarm_end A [128,256,512] [] []");
  // A request comes while the first rung is prewarmed, asks for the next, and is served first.
  log = run_scenario(scene("", gte, ask(0.5, 1, "A", 256, R"("hold_ms":10)"), "9000"));
  EXPECT_EQ(log.back(), "3010 prewarm_end A [128,512] [256] []");
}

TEST(Faults, S254_PrewarmPausesForLeasesAndRequests) {
  const Log log = run_scenario(scene("", mock("A", R"("prewarm":true)"),
                                     ask(0.5, 1, "A", 128) + R"(,{"t":4000,"op":"release","id":1})", "9000"));
  EXPECT_TRUE(has(log, "1000 grant #1"));
  EXPECT_TRUE(has(log, "4000 admit_start A:256"));
}

TEST(Faults, S256_S257_PrewarmEnds) {
  Log log = run_scenario(
      scene("", mock("A", R"("prewarm":true)"), R"({"t":500,"op":"retire","model":"A"})", "9000"));
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled",
                      "1000 prewarm_end A [128] [] []", "1000 exit A", "1000 retired A"}));
  log = run_scenario(scene("", mock("A", R"("prewarm":true)"),
                           R"({"t":500,"op":"fault","model":"A","kind":"error"})", "9000"));
  EXPECT_EQ(log.back(), "1500 prewarm_end A [128] [] []");
  EXPECT_EQ(count(log, "exit"), 0u);
  log = run_scenario(scene("", mock("A", R"("prewarm":true)"), crash(0.5, "A", "100"), "9000"));
  EXPECT_EQ(count(log, "ready"), 1u);
  EXPECT_TRUE(has(log, "600 admit_start A:128"));  // once for each process
}

}  // namespace
}  // namespace anelane::sim
