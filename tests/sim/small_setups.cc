// The small worlds. Each is about one meeting of rules, with as little else as possible, so that its depth
// reaches the end of its stories.
#include "model_checker.h"

namespace anelane::sim {
namespace {

constexpr Time kMs = 1000;

RungCosts rung(uint32_t shape, Time cost_ms, bool cached = false) {
  return {.shape = shape,
          .seed = cost_ms * kMs,
          .truth = cost_ms * kMs,
          .load = 80 * kMs,
          .true_load = 80 * kMs,
          .cached = cached};
}

Model model(const char* name, std::vector<RungCosts> rungs) {
  return {.name = name, .layers = 4, .rungs = std::move(rungs)};
}

// Room for `shapes` shapes of four layers, and almost for one more.
Workload lane(uint32_t shapes, std::vector<Model> models) {
  Workload w;
  w.options.executable_budget = 4 * shapes + 3;
  w.options.admission_bound = 20'000 * kMs;
  w.options.gate_hold = 5'000 * kMs;
  w.options.exit_timeout = 8'000 * kMs;
  w.options.back_off = false;
  w.models = std::move(models);
  return w;
}

}  // namespace

std::vector<SmallSetup> small_setups() {
  std::vector<SmallSetup> all;
  // Three entries at one gate, whose tickets have little time; who may go before whom.
  all.push_back(
      {.name = "order",
       .world = lane(9, {model("A", {rung(128, 300), rung(256, 900)}), model("B", {rung(128, 500)})}),
       .asks = {{.model = 0, .rung = 1, .patience = 1'500 * kMs, .may_cancel = true},
                {.model = 0, .rung = 0, .patience = 700 * kMs},
                {.model = 1, .rung = 0},
                {.model = 0, .rung = 1, .patience = 600 * kMs}},
       .ticks = 2});
  // One shape a model: an entry that its own model's lease keeps out, and one that would go past it.
  Workload narrow = lane(9, {model("A", {rung(128, 300), rung(256, 400)}), model("B", {rung(128, 500)})});
  narrow.options.shapes_per_model = 1;
  all.push_back({.name = "own limit",
                 .world = narrow,
                 .asks = {{.model = 0, .rung = 0},
                          {.model = 0, .rung = 1, .patience = 600 * kMs},
                          {.model = 1, .rung = 0, .may_cancel = true}}});
  // Room for the small model's load beside a lease, and none for the wide model's compile: who holds back
  // whom.
  Workload unequal =
      lane(1, {model("A", {rung(128, 300)}), model("B", {rung(128, 500, true), rung(256, 500, true)})});
  unequal.models[0].layers = 6;
  unequal.options.executable_budget = 8;
  all.push_back(
      {.name = "starved",
       .world = unequal,
       .asks = {{.model = 1, .rung = 0}, {.model = 0}, {.model = 1, .rung = 1}, {.model = 1, .rung = 0}}});
  // Three shapes of one model and room for two: which of them goes.
  all.push_back({.name = "least recently used",
                 .world = lane(2, {model("A", {rung(128, 300), rung(256, 400), rung(512, 500)})}),
                 .asks = {{.model = 0, .rung = 1}, {.model = 0, .rung = 2}, {.model = 0, .rung = 0}}});
  // Room for one shape: evictions, a starved head, the cohort's hand-off.
  all.push_back({.name = "room for one",
                 .world = lane(1, {model("A", {rung(128, 300)}), model("B", {rung(128, 500)})}),
                 .asks = {{.model = 0, .lazy = true},
                          {.model = 1, .patience = 1'000 * kMs, .may_cancel = true},
                          {.model = 0, .may_cancel = true},
                          {.model = 1, .lazy = true}},
                 .sends_wait = true,
                 .ticks = 1});
  // Room for two of three; leases that wait behind admissions on their worker's stream.
  all.push_back(
      {.name = "room for two",
       .world = lane(2, {model("A", {rung(128, 300), rung(256, 900)}), model("B", {rung(128, 500)})}),
       .asks = {{.model = 0, .rung = 0, .exchange = true},
                {.model = 0, .rung = 1, .may_cancel = true},
                {.model = 1, .rung = 0},
                {.model = 0, .rung = 0, .exchange = true}},
       .ticks = 1});
  // Both gates, loads that take too long.
  all.push_back({.name = "loads",
                 .world = lane(2, {model("A", {rung(128, 300, true), rung(256, 900)}),
                                   model("B", {rung(128, 500, true)})}),
                 .asks = {{.model = 0, .rung = 0},
                          {.model = 0, .rung = 1, .patience = 2'000 * kMs},
                          {.model = 1, .rung = 0, .patience = 400 * kMs, .may_cancel = true},
                          {.model = 1, .rung = 0}},
                 .ticks = 2});
  // A crash at every point, exits that are late, starts that fail, old answers.
  all.push_back({.name = "crashes",
                 .world = lane(1, {model("A", {rung(128, 300)}), model("B", {rung(128, 500)})}),
                 .asks = {{.model = 0, .may_cancel = true}, {.model = 1}, {.model = 0, .lazy = true}},
                 .sends_wait = true,
                 .ticks = 1,
                 .crashes = 2,
                 .duplicates = 1,
                 .start_may_fail = true});
  // Errors, refusals with victims and without, evictions that fail.
  all.push_back(
      {.name = "refusals",
       .world = lane(2, {model("A", {rung(128, 300), rung(256, 900)}), model("B", {rung(128, 500)})}),
       .asks = {{.model = 0, .rung = 0}, {.model = 1, .may_cancel = true}, {.model = 0, .rung = 1}},
       .errors = 1,
       .refusals = 2,
       .failed_evictions = 1,
       .duplicates = 1});
  // Retirement at every point, with prewarm.
  Workload with_prewarm =
      lane(2, {model("A", {rung(128, 300, true), rung(256, 900)}), model("B", {rung(128, 500)})});
  with_prewarm.models[0].prewarm = true;
  all.push_back({.name = "retirement",
                 .world = with_prewarm,
                 .asks = {{.model = 0, .rung = 1, .exchange = true},
                          {.model = 1, .may_cancel = true},
                          {.model = 0, .rung = 0, .lazy = true}},
                 .sends_wait = true,
                 .crashes = 1,
                 .retires = 1});
  return all;
}

}  // namespace anelane::sim
