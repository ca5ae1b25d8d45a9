// The simulator's options and its help, which scripts/sim prints from here so that it needs no build. A
// number that is none is refused: a run of another seed than the one that was meant looks just like an
// answer.
#include "sim_options.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace anelane::sim {

// The help begins and ends with the raw string; scripts/sim looks for its two ends.
const char* const kSimUsage =
    R"(The scheduler's simulator: the production core under a virtual clock.

  sim --workload FILE.json        run one workload, tell what happens
  sim --seed N [--events M]       run one random history under the oracle, tell what happens
  sim --seeds N [--first S]       judge many random histories
  sim --check                     try every order of events in small worlds

Of a workload or a seed:
  --json                          the event log as JSON lines, to compare it with others
  --picture FILE.svg              draw it too: workers, requests and what each waited for, queue, budget
  --from S, --to S                only these seconds of the picture
Of seeds:
  --events M                      what happens from outside in each history (200)
  --storm                         crowded, slow to evict, faulty
  --plain                         draw only what a workload file can say, and end where it ends: no shared programs,
                                  packed programs, fast path, doubled, stale or failed answers, and no healing at the end
  --write-workload                (with --seed) print the workload of that seed with --plain, to run it elsewhere. It is
                                  another history than that of the seed without --plain, which no file can say
  --coverage                      (with --seeds) each slot transition by the faults before it
  --unjudged                      (with --seeds) without the oracle, for speed
Of small worlds:
  --situations N                  in each world at most so many (50000)
  --depth D                       at most so many moves deep (40)
  --world NAME                    only this one

A workload is {"options":{…},"models":[{"name":…,"layers":…,"true_ms":{SHAPE:…}}],"events":[{"t":MS,"op":"request",…}]};
examples/sim/three-models.json is one to begin with.

Exit: 0 all rules held, 1 a rule was broken, 2 wrong usage.
)";

namespace {

enum class Takes { kNothing, kText, kCount, kNumber, kSeconds };
struct Option {
  const char* name;
  Takes takes;
};
constexpr Option kOptions[] = {
    {"workload", Takes::kText},          {"seed", Takes::kNumber},      {"seeds", Takes::kCount},
    {"check", Takes::kNothing},          {"json", Takes::kNothing},     {"picture", Takes::kText},
    {"from", Takes::kSeconds},           {"to", Takes::kSeconds},       {"events", Takes::kCount},
    {"storm", Takes::kNothing},          {"plain", Takes::kNothing},    {"first", Takes::kNumber},
    {"write-workload", Takes::kNothing}, {"coverage", Takes::kNothing}, {"unjudged", Takes::kNothing},
    {"situations", Takes::kCount},       {"depth", Takes::kCount},      {"world", Takes::kText}};
constexpr const char* kModes[] = {"workload", "seed", "seeds", "check"};
constexpr double kMostSeconds = 1e9;  // fits in microseconds

template <class T>
bool read(const std::string& text, T* out) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && at == end;
}

bool fits(Takes takes, const std::string& value) {
  uint64_t n = 0;
  double s = 0;
  switch (takes) {
    case Takes::kNothing:
    case Takes::kText:
      return true;
    case Takes::kCount:
      return read(value, &n) && n > 0;
    case Takes::kNumber:
      return read(value, &n);
    case Takes::kSeconds:
      return read(value, &s) && s >= 0 && s <= kMostSeconds;
  }
  return false;
}

const char* expected(Takes takes) {
  if (takes == Takes::kSeconds) return "a number of seconds, 0 or more";
  return takes == Takes::kCount ? "a whole number, 1 or more" : "a whole number, 0 or more";
}

Status wrong(const std::string& what) {
  return error(Code::kInvalidArgument, what + "; see --help");
}

}  // namespace

Result<SimOptions> SimOptions::parse(int argc, const char* const* argv) {
  SimOptions out;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto* option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                      [&](const Option& o) { return arg == std::string("--") + o.name; });
    if (option == std::end(kOptions)) return wrong("there is no option " + arg);
    std::string value;
    if (option->takes != Takes::kNothing) {
      if (i + 1 == argc || std::string(argv[i + 1]).starts_with("--") || *argv[i + 1] == '\0')
        return wrong(arg + " needs a value");
      value = argv[++i];
    }
    if (!fits(option->takes, value))
      return wrong(arg + " \"" + value + "\": expected " + expected(option->takes));
    out.values_[option->name] = value;
  }
  ANELANE_TRY(out.check());
  return out;
}

Status SimOptions::check() const {
  std::vector<std::string> modes;
  for (const char* mode : kModes)
    if (has(mode)) modes.emplace_back(mode);
  if (modes.empty()) return wrong("expected --workload, --seed, --seeds or --check");
  if (modes.size() > 1) return wrong("--" + modes[0] + " and --" + modes[1] + " exclude each other");
  if (has("from") && has("to") && seconds("from", 0) >= seconds("to", 0))
    return wrong("--from must be before --to");
  return {};
}

uint64_t SimOptions::number(const std::string& name, uint64_t fallback) const {
  if (has(name)) read(values_.at(name), &fallback);
  return fallback;
}

sched::Time SimOptions::seconds(const std::string& name, sched::Time fallback) const {
  double s = 0;
  if (!has(name) || !read(values_.at(name), &s)) return fallback;
  return static_cast<sched::Time>(s * 1e6);
}

}  // namespace anelane::sim
