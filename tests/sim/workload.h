// A workload: options, models, what happens from outside. Written by hand, read from a file, or drawn from a
// seed (random_workload.h); run by world.h. Times are integer microseconds.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "scheduler/types.h"

namespace anelane::sim {

using sched::kNever;
using sched::kUnknown;
using sched::Time;

struct RungCosts {
  uint32_t shape = 0;
  Time seed = kUnknown;       // predicted compile
  Time truth = kUnknown;      // what a compile takes
  Time load = kUnknown;       // predicted load
  Time true_load = kUnknown;  // what a load takes
  bool cached = false;        // when the model is loaded
};

struct Model {
  std::string name;
  std::string program = {};  // shared by models that compile the same programs; not in files
  uint32_t layers = 1;
  std::vector<RungCosts> rungs;
  Time evict = 20'000;
  bool prewarm = false;
  bool reports_cache = true;
};

// What its worker tells the scheduler, and which of its rungs the daemon has (bit i: rungs[i]).
sched::WorkerSpec spec_of(const Model& model);
uint32_t cached_rungs(const Model& model);

enum class Op : uint8_t { kRequest, kCancel, kRelease, kFault, kRetire, kUncache };
enum class FaultKind : uint8_t { kCrash, kError, kRefuse, kSlow };

struct Happening {
  Time t = 0;
  Op op = Op::kRequest;
  uint64_t id = 0;
  uint32_t model = 0;
  uint32_t rung = 0;
  Time deadline = kNever;
  Time hold = kUnknown;  // kUnknown: until released
  Time take = 0;
  FaultKind fault = FaultKind::kCrash;
  Time exit_after = kNever;
  Time restart = 0;
  bool deterministic = false;
  double factor = 1;
  // Of the random worlds only; not in files.
  bool fast_path = false;  // a request that tries the gate word first, as callers do
  bool no_pin = false;     // admit without a lease
  bool packed = false;     // the preparation of a packed program
};

struct Workload {
  sched::Options options;
  std::vector<Model> models;
  std::vector<Happening> happenings;  // in order of time, then of the file
  Time until = kNever;
};

Result<Workload> parse_workload(std::string_view text, std::string_view name);
// The same in the format that parse_workload reads.
std::string to_json(const Workload& workload);

}  // namespace anelane::sim
