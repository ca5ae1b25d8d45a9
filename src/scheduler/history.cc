// Writing and reading the lines of a history. Every reader names the member that is wrong.
#include "scheduler/history.h"

#include <iterator>

namespace anelane::sched {
namespace {

constexpr const char* kEvents[] = {"worker_ready",   "start_failed",  "request",       "cancel",
                                   "take",           "released",      "stream_idle",   "admission_sent",
                                   "admission_done", "eviction_sent", "eviction_done", "fault",
                                   "exit_confirmed", "retire",        "timer",         "stop"};
constexpr const char* kActions[] = {"start_admission", "withdraw_admission",
                                    "start_eviction",  "withdraw_eviction",
                                    "grant",           "offer",
                                    "answer",          "recover",
                                    "spawn",           "close_worker",
                                    "retired",         "dropped",
                                    "prewarm_end"};
static_assert(std::size(kEvents) == static_cast<size_t>(EventKind::kStop) + 1);
static_assert(std::size(kActions) == static_cast<size_t>(ActionKind::kPrewarmEnd) + 1);

// A record may have been edited: sums of its times must not overflow.
constexpr Time kMostTime = 1'000'000'000'000'000;

Status wrong(const std::string& member, const std::string& what) {
  return error(Code::kInvalidArgument, "\"" + member + "\" " + what);
}

// The number of a member, within what its type can hold; untouched when it is missing.
template <class T>
Status read_number(const Json& json, const char* member, T* out, int64_t least = 0) {
  const Json* value = json.find(member);
  if (value == nullptr) return {};
  if (!value->is_int()) return wrong(member, "is no whole number");
  const int64_t number = value->as_int();
  const bool is_time = std::is_same_v<T, Time> && number != kNever;
  if (number < least || !std::in_range<T>(number) || (is_time && number > kMostTime))
    return wrong(member, "is out of range");
  *out = static_cast<T>(number);
  return {};
}

Status read_flag(const Json& json, const char* member, bool* out) {
  const Json* value = json.find(member);
  if (value == nullptr) return {};
  if (!value->is_bool()) return wrong(member, "is neither true nor false");
  *out = value->as_bool();
  return {};
}

template <class Options, class Visit>
void each_option(Options& o, Visit&& visit) {
  visit("executable_budget", o.executable_budget);
  visit("shapes_per_model", o.shapes_per_model);
  visit("shapes_total", o.shapes_total);
  visit("max_waiting", o.max_waiting);
  visit("settle", o.settle);
  visit("admission_bound", o.admission_bound);
  visit("handoff", o.handoff);
  visit("exit_timeout", o.exit_timeout);
  visit("gate_hold", o.gate_hold);
  visit("early_evict", o.early_evict);
  visit("lease_max", o.lease_max);
  visit("reclaim", o.reclaim);
  visit("drain", o.drain);
  visit("parallel_load", o.parallel_load);
  visit("daemon_goes_on", o.daemon_goes_on);
  visit("back_off", o.back_off);
}

template <class T>
void put(Json& json, const char* member, T value, T usual) {
  if (value != usual) json.set(member, value);
}

}  // namespace

std::string action_text(const Action& a) {
  std::string text = kActions[static_cast<size_t>(a.kind)];
  text += " " + std::to_string(a.worker) + "." + std::to_string(a.generation) + ":" + std::to_string(a.rung);
  const auto add = [&text](const char* name, uint64_t value) {
    if (value != 0) text += std::string(" ") + name + "=" + std::to_string(value);
  };
  if (a.ticket != 0) text += " #" + std::to_string(a.ticket);
  if (a.kind == ActionKind::kAnswer) text += std::string(" ") + code_info(a.code).name;
  add("retry_after_ms", a.retry_after_ms);
  if (a.kind == ActionKind::kStartAdmission) {
    text += a.is_load ? " load" : " compile";
    if (a.predicted != kUnknown) text += " predicted=" + std::to_string(a.predicted);
    if (a.prewarm) text += " prewarm";
  }
  if (a.kind == ActionKind::kPrewarmEnd) {
    add("loaded", a.loaded);
    add("from_cache", a.from_cache);
    add("already_resident", a.already_resident);
    add("skipped_for_budget", a.skipped_for_budget);
    add("failed", a.failed);
    if (a.cancelled) text += " cancelled";
    add("total", static_cast<uint64_t>(a.total));
  }
  return text;
}

Json options_json(const Options& options) {
  Json json = Json::object();
  each_option(options, [&json](const char* name, auto value) { json.set(name, value); });
  return json;
}

Result<Options> parse_options(const Json& json) {
  if (!json.is_object()) return wrong("options", "is no object");
  Options options;
  Status status;
  each_option(options, [&](const char* name, auto& value) {
    if (!status.ok()) return;
    if constexpr (std::is_same_v<decltype(value), bool&>)
      status = read_flag(json, name, &value);
    else
      status = read_number(json, name, &value);
    if constexpr (std::is_same_v<decltype(value), Time&>)
      if (status.ok() && value > kMostTime) status = wrong(name, "is out of range");  // no bound is "never"
  });
  if (!status.ok()) return status;
  return options;
}

Json worker_json(WorkerId id, const WorkerSpec& spec) {
  Json ladder = Json::array(), compile = Json::array(), load = Json::array();
  for (size_t i = 0; i < spec.ladder.size(); ++i) {
    ladder.push(spec.ladder[i]);
    compile.push(spec.seed_compile[i]);
    load.push(spec.seed_load[i]);
  }
  Json json = Json::object();
  json.set("worker", id).set("name", spec.name).set("program", spec.program).set("layers", spec.layers);
  json.set("ladder", ladder).set("seed_compile", compile).set("seed_load", load);
  json.set("reports_cache", spec.reports_cache).set("prewarm", spec.prewarm);
  return json;
}

Result<WorkerSpec> parse_worker(const Json& json) {
  WorkerSpec spec;
  spec.name = json.at("name").as_string();
  spec.program = json.at("program").as_string();
  spec.seed_compile.fill(kUnknown);
  spec.seed_load.fill(kUnknown);
  ANELANE_TRY(read_number(json, "layers", &spec.layers, 1));
  ANELANE_TRY(read_flag(json, "reports_cache", &spec.reports_cache));
  ANELANE_TRY(read_flag(json, "prewarm", &spec.prewarm));
  if (spec.layers == 0) return wrong("layers", "is missing");
  const Json::Array& ladder = json.at("ladder").as_array();
  if (ladder.empty() || ladder.size() > limits::kMaxRungs) return wrong("ladder", "has no or too many rungs");
  for (const Json& rung : ladder) {
    if (!std::in_range<uint32_t>(rung.as_int(-1))) return wrong("ladder", "holds what is no shape");
    spec.ladder.push_back(static_cast<uint32_t>(rung.as_int()));
  }
  for (const auto& [member, seeds] :
       {std::pair{"seed_compile", &spec.seed_compile}, std::pair{"seed_load", &spec.seed_load}}) {
    const Json::Array& values = json.at(member).as_array();
    if (values.size() != ladder.size()) return wrong(member, "is not as long as the ladder");
    for (size_t i = 0; i < values.size(); ++i) {
      (*seeds)[i] = values[i].as_int(kUnknown);
      if ((*seeds)[i] < kUnknown || (*seeds)[i] > kMostTime) return wrong(member, "holds what is no time");
    }
  }
  return spec;
}

Json event_json(Time now, const Event& e) {
  const Event usual;
  Json json = Json::object();
  json.set("t", now).set("ev", kEvents[static_cast<size_t>(e.kind)]);
  put(json, "worker", e.worker, usual.worker);
  put(json, "generation", e.generation, usual.generation);
  put(json, "rung", e.rung, usual.rung);
  put(json, "ticket", e.ticket, usual.ticket);
  put(json, "deadline", e.deadline, usual.deadline);
  put(json, "pin", e.pin, usual.pin);
  put(json, "take_at_once", e.take_at_once, usual.take_at_once);
  put(json, "packed", e.packed, usual.packed);
  put(json, "mask", e.mask, usual.mask);
  if (e.code != usual.code) json.set("code", code_info(e.code).name);
  put(json, "permanent", e.permanent, usual.permanent);
  put(json, "learn", e.learn, usual.learn);
  put(json, "cache_hit", e.cache_hit, usual.cache_hit);
  put(json, "compiled", e.compiled, usual.compiled);
  return json;
}

Result<std::pair<Time, Event>> parse_event(const Json& json) {
  Event e;
  Time now = -1;
  ANELANE_TRY(read_number(json, "t", &now));
  if (now < 0 || now == kNever) return wrong("t", "is missing or out of range");
  const std::string& kind = json.at("ev").as_string();
  size_t number = 0;
  while (number < std::size(kEvents) && kind != kEvents[number]) ++number;
  if (number == std::size(kEvents)) return wrong("ev", "names no event: \"" + kind + "\"");
  e.kind = static_cast<EventKind>(number);
  ANELANE_TRY(read_number(json, "worker", &e.worker));
  ANELANE_TRY(read_number(json, "generation", &e.generation));
  ANELANE_TRY(read_number(json, "rung", &e.rung));
  ANELANE_TRY(read_number(json, "ticket", &e.ticket));
  ANELANE_TRY(read_number(json, "deadline", &e.deadline));
  ANELANE_TRY(read_flag(json, "pin", &e.pin));
  ANELANE_TRY(read_flag(json, "take_at_once", &e.take_at_once));
  ANELANE_TRY(read_flag(json, "packed", &e.packed));
  ANELANE_TRY(read_number(json, "mask", &e.mask));
  if (const Json* code = json.find("code")) {
    const CodeInfo* info = find_code(code->as_string());
    if (info == nullptr) return wrong("code", "names no status");
    e.code = info->code;
  }
  ANELANE_TRY(read_flag(json, "permanent", &e.permanent));
  ANELANE_TRY(read_flag(json, "learn", &e.learn));
  ANELANE_TRY(read_number(json, "cache_hit", &e.cache_hit));
  ANELANE_TRY(read_number(json, "compiled", &e.compiled));
  return std::pair{now, e};
}

void HistoryRecorder::start(const Options& options, std::string_view build) {
  Json json = Json::object();
  json.set("anelane_history", kHistoryVersion).set("build", build).set("options", options_json(options));
  sink_(json.dump());
}

void HistoryRecorder::worker_added(WorkerId id, const WorkerSpec& spec) {
  sink_(worker_json(id, spec).dump());
}

void HistoryRecorder::worker_forgotten(WorkerId id) {
  sink_(Json::object().set("forget", id).dump());
}

void HistoryRecorder::hinted(WorkerId worker, bool stream_idle, uint32_t blocked) {
  hints_.push(Json::array().push(worker).push(stream_idle ? 1 : 0).push(blocked));
}

uint64_t HistoryRecorder::read(WorkerId worker, uint32_t rung, Read what, uint64_t value) {
  words_.push(Json::array().push(worker).push(rung).push(static_cast<int>(what)).push(value));
  return value;
}

void HistoryRecorder::stepped(Time now, const Event& event, std::span<const Action> actions) {
  Json json = event_json(now, event);
  if (hints_.is_array()) json.set("hints", std::exchange(hints_, Json()));
  if (words_.is_array()) json.set("words", std::exchange(words_, Json()));
  Json done = Json::array();
  for (const Action& a : actions) done.push(action_text(a));
  json.set("do", std::move(done));
  sink_(json.dump());
}

}  // namespace anelane::sched
