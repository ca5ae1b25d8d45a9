// The simulator's command line: one workload or one seed as a log, a timeline or a picture; many seeds
// judged; small worlds with every order of their events.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/file.h"
#include "model_checker.h"
#include "picture.h"
#include "sim_options.h"
#include "timeline.h"
#include "trial.h"

namespace anelane::sim {
namespace {

unsigned long long wide(uint64_t n) {
  return n;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "sim: %s\n", message.c_str());
  return 2;
}

void print_log(const std::vector<LogLine>& log, const Workload& workload, bool json) {
  Timeline timeline(workload);
  for (const LogLine& line : log) {
    if (json && (line.ev == Ev::kAsk || line.ev == Ev::kCancel)) continue;
    std::printf("%s\n", (json ? line_json(line, workload.models) : timeline.tell(line)).c_str());
  }
}

// The same history once more, as far as it was told, looked at for the picture.
int draw(const SimOptions& args, const std::string& title, const Workload& workload, const Habits& habits,
         bool healed) {
  World world(workload, habits);
  Sampler sampler(world);
  world.watch(&sampler);
  world.run_to(workload.until);
  if (healed) heal_and_go_on(world);
  const PictureRange range{args.seconds("from", 0), args.seconds("to", kNever)};
  const std::string& path = args.text("picture");
  const Status written =
      write_file_atomic(path, draw_picture(title, workload, world.log(), sampler.samples(), range), 0644);
  return written.ok() ? 0 : fail(written.message());
}

int run_workload(const SimOptions& args) {
  const std::string& path = args.text("workload");
  Result<std::string> text = read_file(path, 256u << 20);
  if (!text.ok()) return fail(text.status().message());
  Result<Workload> workload = parse_workload(*text, path);
  if (!workload.ok()) return fail(workload.status().message());
  World world(*workload);
  world.run();
  print_log(world.log(), *workload, args.has("json"));
  if (!world.scheduler().broken().empty()) return fail("broken invariant: " + world.scheduler().broken());
  return args.has("picture") ? draw(args, path, *workload, {}, false) : 0;
}

Trial trial_of(const SimOptions& args) {
  Trial trial;
  trial.happenings = args.number("events", 200);
  trial.stormy = args.has("storm");
  trial.plain = args.has("plain") || args.has("write-workload");
  trial.judged = !args.has("unjudged");
  return trial;
}

int run_seed(const SimOptions& args) {
  const Trial trial = trial_of(args);
  const uint64_t seed = args.number("seed", 1);
  if (args.has("write-workload")) {
    Draws draws(seed);
    std::printf("%s\n", to_json(draw_world(draws, trial.happenings, true, trial.stormy).workload).c_str());
    return 0;
  }
  const Verdict v = run_trial(seed, trial);
  print_log(v.log, v.workload, args.has("json"));
  std::fprintf(stderr, "seed %llu: %llu steps, hash %016llx: %s\n", wide(seed), wide(v.steps), wide(v.hash),
               v.violation.empty() ? "all rules held" : v.violation.c_str());
  if (args.has("picture")) {
    const std::string title =
        "seed " + std::to_string(seed) + ", " + std::to_string(trial.happenings) + " events";
    if (const int failed = draw(args, title, v.workload, v.habits, v.healed); failed != 0) return failed;
  }
  return v.violation.empty() ? 0 : 1;
}

int run_seeds(const SimOptions& args) {
  const Trial trial = trial_of(args);
  const uint64_t first = args.number("first", 1), count = args.number("seeds", 1);
  uint64_t steps = 0, hash = 0, bad = 0;
  Oracle::Coverage coverage;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Verdict v = run_trial(seed, trial);
    steps += v.steps;
    hash = hash * 31 + v.hash;
    for (const auto& [key, n] : v.coverage) coverage[key] += n;
    if (v.violation.empty()) continue;
    if (++bad <= 20) std::printf("seed %llu: %s\n", wide(seed), v.violation.c_str());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%llu seeds, %llu steps, %.0f a second, hash %016llx, %llu violations\n", wide(count),
              wide(steps), static_cast<double>(steps) / seconds, wide(hash), wide(bad));
  if (args.has("coverage"))
    for (const auto& [key, n] : coverage)
      std::printf("  %-22s %-9s %llu\n", key.first.c_str(), key.second.c_str(), wide(n));
  return bad == 0 ? 0 : 1;
}

int run_check(const SimOptions& args) {
  const CheckLimits limits{args.number("depth", 40), args.number("situations", 50'000)};
  bool any = false, broken = false;
  for (const SmallSetup& setup : small_setups()) {
    if (args.has("world") && args.text("world") != setup.name) continue;
    any = true;
    const CheckResult r = check_world(setup, limits);
    std::printf("%-20s %9zu situations, %10llu moves, every order of %2zu%s\n", setup.name, r.situations,
                wide(r.moves), r.depth, r.complete ? ": there are no more" : "");
    if (r.violation.empty()) continue;
    broken = true;
    std::printf("%s\n", r.violation.c_str());
    for (const std::string& line : r.history) std::printf("  %s\n", line.c_str());
  }
  if (any) return broken ? 1 : 0;
  std::string names;
  for (const SmallSetup& setup : small_setups()) names += std::string(names.empty() ? "" : ", ") + setup.name;
  return fail("no small world is called " + args.text("world") + "; there are " + names);
}

}  // namespace
}  // namespace anelane::sim

int main(int argc, char** argv) {
  using namespace anelane::sim;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0)
      return std::fputs(kSimUsage, stdout) < 0 ? 2 : 0;
  const anelane::Result<SimOptions> args = SimOptions::parse(argc, argv);
  if (!args.ok()) return fail(args.status().message());
  if (args->has("workload")) return run_workload(*args);
  if (args->has("seeds")) return run_seeds(*args);
  if (args->has("seed")) return run_seed(*args);
  return run_check(*args);
}
