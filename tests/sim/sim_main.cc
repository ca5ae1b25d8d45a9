// The simulator's command line: one workload in, its event log out; one seed as a timeline; many seeds
// judged.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/file.h"
#include "trial.h"

namespace anelane::sim {
namespace {

constexpr const char* kUsage =
    "usage: sim --workload FILE.json [--json]        run one workload, print its event log\n"
    "       sim --seed N [--events M] [--json | --write-workload]\n"
    "                                                one random history\n"
    "       sim --seeds N [--first S] [--events M]   judge many histories\n";

struct Arguments {
  std::map<std::string, std::string> values;
  bool has(const std::string& name) const { return values.contains(name); }
  uint64_t number(const std::string& name, uint64_t fallback) const {
    const auto it = values.find(name);
    return it == values.end() ? fallback : std::strtoull(it->second.c_str(), nullptr, 10);
  }
};

int fail(const std::string& message) {
  std::fprintf(stderr, "sim: %s\n", message.c_str());
  return 2;
}

void print_log(const std::vector<LogLine>& log, const std::vector<Model>& models, bool json) {
  for (const LogLine& line : log) {
    if (json && (line.ev == Ev::kAsk || line.ev == Ev::kCancel)) continue;
    std::printf("%s\n", (json ? line_json(line, models) : line_text(line, models)).c_str());
  }
}

int run_workload(const std::string& path, bool json) {
  Result<std::string> text = read_file(path, 256u << 20);
  if (!text.ok()) return fail(text.status().message());
  Result<Workload> workload = parse_workload(*text, path);
  if (!workload.ok()) return fail(workload.status().message());
  World world(*workload);
  world.run();
  print_log(world.log(), workload->models, json);
  if (!world.scheduler().broken().empty()) return fail("broken invariant: " + world.scheduler().broken());
  return 0;
}

int run_seed(const Arguments& args) {
  Trial trial;
  trial.happenings = args.number("events", 200);
  trial.planted_bug = static_cast<int>(args.number("bug", 0));
  trial.stormy = args.has("storm");
  if (args.has("write-workload")) {
    Draws draws(args.number("seed", 1));
    std::printf("%s\n", to_json(draw_world(draws, trial.happenings, true).workload).c_str());
    return 0;
  }
  const Verdict v = run_trial(args.number("seed", 1), trial);
  print_log(v.log, v.workload.models, args.has("json"));
  std::fprintf(stderr, "seed %llu: %llu steps, hash %016llx: %s\n",
               static_cast<unsigned long long>(args.number("seed", 1)),
               static_cast<unsigned long long>(v.steps), static_cast<unsigned long long>(v.hash),
               v.violation.empty() ? "all rules held" : v.violation.c_str());
  return v.violation.empty() ? 0 : 1;
}

int run_seeds(const Arguments& args) {
  Trial trial;
  trial.happenings = args.number("events", 200);
  trial.planted_bug = static_cast<int>(args.number("bug", 0));
  trial.stormy = args.has("storm");
  trial.judged = !args.has("unjudged");
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
    if (++bad <= 20)
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), v.violation.c_str());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%llu seeds, %llu steps, %.0f a second, hash %016llx, %llu violations\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(steps),
              static_cast<double>(steps) / seconds, static_cast<unsigned long long>(hash),
              static_cast<unsigned long long>(bad));
  if (args.has("coverage"))
    for (const auto& [key, n] : coverage)
      std::printf("  %-22s %-9s %llu\n", key.first.c_str(), key.second.c_str(),
                  static_cast<unsigned long long>(n));
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace anelane::sim

int main(int argc, char** argv) {
  anelane::sim::Arguments args;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--", 0) != 0) {
      std::fputs(anelane::sim::kUsage, stderr);
      return 2;
    }
    const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
    args.values[arg.substr(2)] = has_value ? argv[++i] : "";
  }
  if (args.has("workload")) return anelane::sim::run_workload(args.values["workload"], args.has("json"));
  if (args.has("seeds")) return anelane::sim::run_seeds(args);
  if (args.has("seed")) return anelane::sim::run_seed(args);
  std::fputs(anelane::sim::kUsage, stderr);
  return 2;
}
