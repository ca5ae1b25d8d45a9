// A history: everything that went into a scheduler and what it decided, as lines of JSON. A recorded history
// can be fed to a scheduler again (replay.h).
//
//   {"anelane_history":1,"build":"…","options":{"executable_budget":100,"settle":50000,…}}
//   {"worker":1,"name":"…","program":"…","layers":6,"ladder":[128,…],"seed_compile":[…],"seed_load":[…],…}
//   {"t":1200,"ev":"request","worker":1,"rung":0,"ticket":5,"hints":[[1,1,0]],"words":[[1,0,0,2]],
//    "do":["grant 1.1:0 #5"]}
//   {"forget":1}
//   {"end":"closed"}
//
// Times are µs. Members of an event that have their default are left out. "hints": [worker, stream idle,
// blocked leases] before the event, where they changed. "words": what the scheduler read of the slot gates
// (Observer), in order: [worker, rung, which word, value].
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "scheduler/scheduler.h"

namespace anelane::sched {

inline constexpr int kHistoryVersion = 1;
// How every record begins.
inline constexpr std::string_view kHistoryStart = "{\"anelane_history\":";

// Everything of an action that whoever carries it out can see.
std::string action_text(const Action& action);

Json options_json(const Options& options);
Json worker_json(WorkerId id, const WorkerSpec& spec);
Json event_json(Time now, const Event& event);
Result<Options> parse_options(const Json& json);
Result<WorkerSpec> parse_worker(const Json& json);
Result<std::pair<Time, Event>> parse_event(const Json& json);

// Makes the lines of a running scheduler, from its beginning.
class HistoryRecorder : public Observer {
 public:
  // `sink` gets each line, without its end.
  explicit HistoryRecorder(std::function<void(std::string)> sink) : sink_(std::move(sink)) {}
  void start(const Options& options, std::string_view build);
  void worker_added(WorkerId id, const WorkerSpec& spec) override;
  void worker_forgotten(WorkerId id) override;
  void hinted(WorkerId worker, bool stream_idle, uint32_t blocked) override;
  void stepped(Time now, const Event& event, std::span<const Action> actions) override;
  uint64_t read(WorkerId worker, uint32_t rung, Read what, uint64_t value) override;

 private:
  const std::function<void(std::string)> sink_;
  Json hints_, words_;  // since the last step
};

}  // namespace anelane::sched
