// Scenarios about slots, leases, victims and hand-off, on the virtual clock.
#include "scenario.h"

namespace anelane::sim {
namespace {

TEST(Residency, S007_OneReservesTheSecondWaitsAndNothingIsSentForIt) {
  const Log log = run_scenario(scene(R"("executable_budget":7)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                        {"t":0,"op":"request","id":2,"model":"A","shape":256})",
                                     "500"));
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "500 open #1", "500 open #2"}));
}

TEST(Residency, S008_AReleaseLetsTheQueuedShapeTakeItsRoom) {
  const Log log = run_scenario(scene(R"("executable_budget":7,"admission_bound_ms":3000)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                        {"t":1100,"op":"request","id":2,"model":"A","shape":256},
                                        {"t":1500,"op":"release","id":1})",
                                     "2900"));
  EXPECT_EQ(log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled", "1000 grant #1",
                      "1500 release #1", "1500 evict_start A:128", "1520 evict_end A:128",
                      "1520 admit_start A:256", "2520 admit_end A:256 compiled", "2520 grant #2"}));
}

TEST(Residency, S010_NoRoomUntilTheBound) {
  const Log log = run_scenario(scene(R"("executable_budget":4,"admission_bound_ms":1500)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                        {"t":1100,"op":"request","id":2,"model":"A","shape":256},
                                        {"t":2700,"op":"release","id":1},
                                        {"t":2800,"op":"request","id":3,"model":"A","shape":256})",
                                     "4000"));
  EXPECT_TRUE(has(log, "2600 answer #2 RESOURCES_EXHAUSTED 250"));
  EXPECT_TRUE(has(log, "2600 drop A:256"));
  EXPECT_TRUE(has(log, "3820 grant #3"));
}

TEST(Residency, S016_TheFirstRungIsKeptThoughItIsTheLeastRecentlyUsed) {
  const Log log = run_scenario(scene(R"("executable_budget":12)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":2000,"op":"request","id":2,"model":"A","shape":256,"hold_ms":10},
                                        {"t":4000,"op":"request","id":3,"model":"A","shape":512,"hold_ms":10},
                                        {"t":6000,"op":"request","id":4,"model":"A","shape":1024,"hold_ms":10})",
                                     "9000"));
  EXPECT_TRUE(has(log, "6000 evict_start A:256"));
  EXPECT_EQ(count(log, "evict_start"), 1u);
}

TEST(Residency, S017_UnlessNothingElseIsFree) {
  const Log log = run_scenario(scene(R"("executable_budget":12)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":2000,"op":"request","id":2,"model":"A","shape":256},
                                        {"t":4000,"op":"request","id":3,"model":"A","shape":512},
                                        {"t":6000,"op":"request","id":4,"model":"A","shape":1024})",
                                     "9000"));
  EXPECT_TRUE(has(log, "6000 evict_start A:128"));
  EXPECT_TRUE(has(log, "7020 grant #4"));
}

TEST(Residency, S019_S043_RefusalsEvictRetryThenAnswer) {
  const std::string events = R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                {"t":1100,"op":"fault","model":"A","kind":"refuse"},
                                {"t":1200,"op":"request","id":2,"model":"A","shape":512})";
  // Nothing to evict: refunded, no restart.
  Log log = run_scenario(scene("", mock("A"), events, "5000"));
  EXPECT_TRUE(has(log, "1450 answer #2 RESOURCES_EXHAUSTED 250"));
  EXPECT_EQ(count(log, "exit") + count(log, "evict"), 0u);
  // One victim, then a second refusal: answered at once, restarted when the lease is gone.
  log = run_scenario(scene("", mock("A"),
                           R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                              {"t":1100,"op":"request","id":2,"model":"A","shape":256,"hold_ms":10},
                              {"t":3000,"op":"fault","model":"A","kind":"refuse"},
                              {"t":3000,"op":"fault","model":"A","kind":"refuse"},
                              {"t":3100,"op":"request","id":3,"model":"A","shape":512},
                              {"t":9000,"op":"release","id":1})",
                           "12000"));
  EXPECT_TRUE(has(log, "3350 evict_start A:256"));
  EXPECT_TRUE(has(log, "3370 admit_start A:512"));
  EXPECT_TRUE(has(log, "3620 answer #3 RESOURCES_EXHAUSTED 250"));
  EXPECT_TRUE(has(log, "9000 exit A"));
  EXPECT_TRUE(has(log, "9000 ready A"));
}

TEST(Residency, S020_AResidentShapeIsLeasedWhileAnotherCompilesAndJoinersShareIt) {
  const Log log = run_scenario(scene("", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":2000,"op":"request","id":2,"model":"A","shape":1024},
                                        {"t":2100,"op":"request","id":3,"model":"A","shape":1024},
                                        {"t":2200,"op":"request","id":4,"model":"A","shape":128})",
                                     "4000"));
  EXPECT_TRUE(has(log, "2200 grant #4"));
  EXPECT_TRUE(has(log, "3000 grant #2"));
  EXPECT_TRUE(has(log, "3000 grant #3"));
  EXPECT_EQ(count(log, "admit_start A:1024"), 1u);
}

TEST(Residency, S025_S026_AnExchangeWaitsForTheCompileOnItsStreamWithoutAFault) {
  const Log log = run_scenario(scene("", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":2000,"op":"request","id":2,"model":"A","shape":1024,"hold_ms":5},
                                        {"t":2100,"op":"request","id":3,"model":"A","shape":128,"hold_ms":10})",
                                     "4000"));
  EXPECT_TRUE(has(log, "2100 grant #3"));
  EXPECT_TRUE(has(log, "3010 release #3"));  // its hold begins when the stream is free: 3000
  EXPECT_TRUE(has(log, "3015 release #2"));
  EXPECT_EQ(count(log, "fault"), 0u);
}

TEST(Residency, S031_ACallerThatLeftDuringTheCompileChangesNothingForOthers) {
  const Log log = run_scenario(
      scene("", R"({"name":"A","layers":22,"ladder":[128,1024],"true_ms":{"128":1000,"1024":5000}})",
            R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
                                        {"t":2000,"op":"request","id":2,"model":"A","shape":1024},
                                        {"t":2500,"op":"cancel","id":2},
                                        {"t":3000,"op":"request","id":3,"model":"A","shape":128,"deadline":13000,"hold_ms":10},
                                        {"t":9000,"op":"request","id":4,"model":"A","shape":1024,"hold_ms":10})",
            "12000"));
  EXPECT_TRUE(has(log, "2500 answer #2 CANCELLED"));
  EXPECT_TRUE(has(log, "7010 release #3"));
  EXPECT_TRUE(has(log, "9000 grant #4"));  // resident all the same
  EXPECT_EQ(count(log, "admit_start A:1024"), 1u);
  EXPECT_EQ(count(log, "fault"), 0u);
}

TEST(Residency, S101_ClosedCohortBeforeAStarvedHeadLaterOnesBehindIt) {
  const Log log = run_scenario(scene(R"("executable_budget":8)", mock("A"),
                                     R"({"t":0,"op":"request","id":90,"model":"A","shape":128},
                                        {"t":1100,"op":"request","id":1,"model":"A","shape":256,"hold_ms":100},
                                        {"t":1200,"op":"request","id":2,"model":"A","shape":256,"hold_ms":100},
                                        {"t":1300,"op":"request","id":3,"model":"A","shape":256,"hold_ms":100},
                                        {"t":1400,"op":"request","id":4,"model":"A","shape":512,"hold_ms":100},
                                        {"t":2150,"op":"request","id":5,"model":"A","shape":256,"hold_ms":100})",
                                     "6000"));
  for (const char* line :
       {"2100 grant #1", "2100 grant #2", "2100 grant #3", "2400 evict_start A:256", "3420 grant #4",
        "3520 evict_start A:512", "3540 admit_start A:256", "3620 grant #5"})
    EXPECT_TRUE(has(log, line)) << line;
}

TEST(Residency, S103_ASuspendedJoinerProtectsFor250MsAndNoLongerThanItStays) {
  const std::string models = mock("A");
  const std::string first = R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"take_ms":5000},
                               {"t":500,"op":"request","id":2,"model":"A","shape":256,"hold_ms":10})";
  Log log = run_scenario(scene(R"("executable_budget":4)", models, first, "2400"));
  EXPECT_TRUE(has(log, "1250 evict_start A:128"));  // nothing else happens at 1250
  log = run_scenario(
      scene(R"("executable_budget":4)", models, first + R"(,{"t":1100,"op":"cancel","id":1})", "2400"));
  EXPECT_TRUE(has(log, "1100 evict_start A:128"));
}

TEST(Residency, S104_TheIdleWorkersShapeIsTakenSoTheNextCompileStartsAtOnce) {
  const Log log = run_scenario(scene(
      R"("executable_budget":12)",
      R"({"name":"A","layers":4,"ladder":[128,256,512],"seed_ms":{"512":10000},"true_ms":{"128":100,"256":100,"512":10000}},)" +
          mock("B"),
      R"({"t":0,"op":"request","id":1,"model":"A","shape":256,"hold_ms":10},
         {"t":500,"op":"request","id":2,"model":"B","shape":256,"hold_ms":10},
         {"t":2000,"op":"request","id":3,"model":"A","shape":512},
         {"t":3000,"op":"request","id":4,"model":"B","shape":512})",
      "14000"));
  EXPECT_TRUE(has(log, "11050 evict_start B:256"));
  EXPECT_TRUE(has(log, "11070 evict_end B:256"));
  EXPECT_TRUE(has(log, "12050 admit_end A:512 compiled"));
  EXPECT_TRUE(has(log, "12050 admit_start B:512"));
}

TEST(Residency, S106_ABusyCandidateIsTakenWhenTheIdleOnesAreNotEnough) {
  const Log log =
      run_scenario(scene(R"("executable_budget":50)",
                         R"({"name":"A","layers":22,"ladder":[128,256],"true_ms":{"128":100,"256":100}},
         {"name":"B","layers":22,"ladder":[128,256],"true_ms":{"128":100,"256":100}},
         {"name":"C","layers":50,"ladder":[128],"true_ms":{"128":100}})",
                         R"({"t":0,"op":"request","id":1,"model":"A","shape":256,"hold_ms":10},
         {"t":500,"op":"request","id":2,"model":"B","shape":256,"hold_ms":10},
         {"t":1000,"op":"request","id":3,"model":"C","shape":128})",
                         "3000"));
  EXPECT_TRUE(has(log, "1000 evict_start A:256"));
  EXPECT_TRUE(has(log, "1000 evict_start B:256"));
  EXPECT_TRUE(has(log, "1020 admit_start C:128"));
}

TEST(Residency, L3_2_ALeaseHeldByACallerExpires) {
  const Log log = run_scenario(scene(R"("lease_max_ms":3000)", mock("A"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128},
                                        {"t":6000,"op":"release","id":1})",
                                     "8000"));
  EXPECT_EQ(
      log, (Log{"0 admit_start A:128", "1000 admit_end A:128 compiled", "1000 grant #1", "4000 release #1"}));
}

TEST(Residency, L3_7_AnEvictionThatWaitsForItsStreamIsWithdrawnAndItsWaitersServed) {
  const Log log = run_scenario(scene(R"("executable_budget":8)", mock("A") + "," + mock("B"),
                                     R"({"t":0,"op":"request","id":1,"model":"A","shape":128,"hold_ms":10},
         {"t":1100,"op":"request","id":2,"model":"A","shape":256,"hold_ms":5000},
         {"t":3000,"op":"request","id":3,"model":"B","shape":128},
         {"t":3100,"op":"request","id":4,"model":"A","shape":128,"hold_ms":10},
         {"t":3200,"op":"cancel","id":3})",
                                     "9000"));
  EXPECT_EQ(count(log, "evict_start"), 0u);
  EXPECT_TRUE(has(log, "3200 drop B:128"));
  EXPECT_TRUE(has(log, "3200 grant #4"));
}

}  // namespace
}  // namespace anelane::sim
