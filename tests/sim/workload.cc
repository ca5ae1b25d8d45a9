// Reading and writing the workload format: milliseconds with at most three decimals, exactly. Every error
// names the event or model and the field.
#include "workload.h"

#include <algorithm>
#include <cmath>

#include "scheduler/history.h"

namespace anelane::sim {

sched::WorkerSpec spec_of(const Model& model) {
  sched::WorkerSpec spec;
  spec.name = model.name;
  spec.program = model.program;
  spec.layers = model.layers;
  spec.reports_cache = model.reports_cache;
  spec.prewarm = model.prewarm;
  spec.seed_compile.fill(kUnknown);
  spec.seed_load.fill(kUnknown);
  for (size_t r = 0; r < model.rungs.size(); ++r) {
    spec.ladder.push_back(model.rungs[r].shape);
    spec.seed_compile[r] = model.rungs[r].seed;
    spec.seed_load[r] = model.rungs[r].load;
  }
  return spec;
}

uint32_t cached_rungs(const Model& model) {
  uint32_t mask = 0;
  for (size_t r = 0; r < model.rungs.size(); ++r)
    if (model.rungs[r].cached) mask |= 1u << r;
  return mask;
}

namespace {

constexpr uint32_t kDefaultLadder[] = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr Time kLoadPerLayer = 20'000;
constexpr uint32_t kPrewarmed[] = {128, 256, 512};

Status bad(const std::string& where, const std::string& what) {
  return error(Code::kInvalidArgument, where + ": " + what);
}

Result<Time> time_of(const Json& value, const std::string& where) {
  if (value.is_int()) return Time{value.as_int() * 1000};
  if (!value.is_number()) return bad(where, "expected a time in milliseconds");
  return static_cast<Time>(std::llround(value.as_double() * 1000));
}

Status read_time(const Json& object, std::string_view key, const std::string& where, Time* out) {
  const Json* value = object.find(key);
  if (value == nullptr || value->is_null()) return {};
  ANELANE_ASSIGN(*out, time_of(*value, where + "." + std::string(key)));
  return {};
}

Status read_options(const Json& json, sched::Options* o) {
  const auto count = [&](const char* key, uint32_t* out) {
    if (const Json* v = json.find(key)) *out = static_cast<uint32_t>(v->as_int());
  };
  count("executable_budget", &o->executable_budget);
  count("shapes_per_model", &o->shapes_per_model);
  count("shapes_total", &o->shapes_total);
  count("max_waiting", &o->max_waiting);
  o->parallel_load = json.at("parallel_load").as_bool(o->parallel_load);
  const std::pair<const char*, Time*> times[] = {
      {"settle_ms", &o->settle},       {"admission_bound_ms", &o->admission_bound},
      {"handoff_ms", &o->handoff},     {"exit_timeout_ms", &o->exit_timeout},
      {"gate_hold_ms", &o->gate_hold}, {"early_evict_ms", &o->early_evict},
      {"lease_max_ms", &o->lease_max}, {"reclaim_ms", &o->reclaim}};
  for (const auto& [key, out] : times) ANELANE_TRY(read_time(json, key, "options", out));
  return {};
}

Status read_model(const Json& json, const std::string& where, Model* m) {
  m->name = json.at("name").as_string();
  if (m->name.empty()) return bad(where, "has no name");
  m->layers = static_cast<uint32_t>(json.at("layers").as_int(0));
  if (m->layers == 0) return bad(where, "layers must be at least 1");
  m->prewarm = json.at("prewarm").as_bool(false);
  m->reports_cache = json.at("reports_cache").as_bool(true);
  ANELANE_TRY(read_time(json, "evict_ms", where, &m->evict));
  std::vector<uint32_t> ladder(std::begin(kDefaultLadder), std::end(kDefaultLadder));
  if (const Json* given = json.find("ladder")) {
    ladder.clear();
    for (const Json& rung : given->as_array()) ladder.push_back(static_cast<uint32_t>(rung.as_int()));
  }
  if (ladder.empty() || ladder.size() > limits::kMaxRungs || ladder.front() == 0 ||
      std::adjacent_find(ladder.begin(), ladder.end(), std::greater_equal<>()) != ladder.end())
    return bad(where, "the ladder must be 1 to 16 strictly ascending shapes above 0");
  for (const uint32_t shape : ladder) {
    RungCosts r;
    r.shape = shape;
    const std::string key = std::to_string(shape);
    ANELANE_TRY(read_time(json.at("seed_ms"), key, where + ".seed_ms", &r.seed));
    ANELANE_TRY(read_time(json.at("true_ms"), key, where + ".true_ms", &r.truth));
    ANELANE_TRY(read_time(json.at("load_ms"), key, where + ".load_ms", &r.load));
    ANELANE_TRY(read_time(json.at("true_load_ms"), key, where + ".true_load_ms", &r.true_load));
    for (const Json& c : json.at("cached").as_array()) r.cached |= c.as_int() == shape;
    if (r.truth == kUnknown) r.truth = r.seed;
    if (r.load == kUnknown) r.load = m->layers * kLoadPerLayer;
    if (r.true_load == kUnknown) r.true_load = r.load;
    if (r.truth == kUnknown && r.cached) r.truth = r.true_load;
    if (r.truth == kUnknown && m->prewarm &&
        std::find(std::begin(kPrewarmed), std::end(kPrewarmed), shape) != std::end(kPrewarmed))
      return bad(where, "it is prewarmed, and neither true_ms nor seed_ms says how long " + key + " takes");
    m->rungs.push_back(r);
  }
  return {};
}

struct Names {
  const std::vector<Model>& models;
  Status model(const Json& json, const std::string& where, uint32_t* out) const {
    const std::string& name = json.at("model").as_string();
    for (uint32_t i = 0; i < models.size(); ++i)
      if (models[i].name == name) {
        *out = i;
        return {};
      }
    return bad(where, "no model is called \"" + name + "\"");
  }
  Status rung(const Json& json, const std::string& where, uint32_t model, uint32_t* out) const {
    const auto& rungs = models[model].rungs;
    for (uint32_t i = 0; i < rungs.size(); ++i)
      if (rungs[i].shape == json.at("shape").as_int(-1)) {
        *out = i;
        return {};
      }
    return bad(where, "its shape is not on the ladder of " + models[model].name);
  }
};

Status read_fault(const Json& json, const std::string& where, Happening* h) {
  const std::string& kind = json.at("kind").as_string();
  if (kind == "crash") {
    h->fault = FaultKind::kCrash;
  } else if (kind == "error") {
    h->fault = FaultKind::kError;
  } else if (kind == "refuse") {
    h->fault = FaultKind::kRefuse;
  } else if (kind == "slow") {
    h->fault = FaultKind::kSlow;
  } else {
    return bad(where, "kind must be crash, error, refuse or slow");
  }
  ANELANE_TRY(read_time(json, "exit_after_ms", where, &h->exit_after));
  ANELANE_TRY(read_time(json, "restart_ms", where, &h->restart));
  h->deterministic = json.at("deterministic").as_bool(false);
  h->factor = json.at("factor").as_double(1);
  return {};
}

Status read_happening(const Json& json, const std::string& where, const Names& names, Happening* h) {
  ANELANE_ASSIGN(h->t, time_of(json.at("t"), where + ".t"));
  h->id = static_cast<uint64_t>(json.at("id").as_int());
  const std::string& op = json.at("op").as_string();
  if (op == "request") {
    h->op = Op::kRequest;
    ANELANE_TRY(names.model(json, where, &h->model));
    ANELANE_TRY(names.rung(json, where, h->model, &h->rung));
    ANELANE_TRY(read_time(json, "deadline", where, &h->deadline));
    ANELANE_TRY(read_time(json, "hold_ms", where, &h->hold));
    return read_time(json, "take_ms", where, &h->take);
  }
  if (op == "cancel" || op == "release") {
    h->op = op == "cancel" ? Op::kCancel : Op::kRelease;
    return {};
  }
  ANELANE_TRY(names.model(json, where, &h->model));
  if (op == "fault") {
    h->op = Op::kFault;
    return read_fault(json, where, h);
  }
  if (op == "retire") {
    h->op = Op::kRetire;
    return {};
  }
  if (op == "uncache") {
    h->op = Op::kUncache;
    return names.rung(json, where, h->model, &h->rung);
  }
  return bad(where, "op must be request, cancel, release, fault, retire or uncache");
}

Json ms(Time t) {
  if (t % 1000 == 0) return Json(t / 1000);
  return Json(static_cast<double>(t) / 1000);
}

Json workload_options_json(const sched::Options& o) {
  Json out = Json::object();
  out.set("executable_budget", o.executable_budget).set("shapes_per_model", o.shapes_per_model);
  out.set("shapes_total", o.shapes_total).set("max_waiting", o.max_waiting).set("settle_ms", ms(o.settle));
  out.set("admission_bound_ms", ms(o.admission_bound)).set("handoff_ms", ms(o.handoff));
  out.set("exit_timeout_ms", ms(o.exit_timeout)).set("gate_hold_ms", ms(o.gate_hold));
  out.set("early_evict_ms", ms(o.early_evict)).set("lease_max_ms", ms(o.lease_max));
  out.set("reclaim_ms", ms(o.reclaim)).set("parallel_load", o.parallel_load);
  return out;
}

Json model_json(const Model& m) {
  Json ladder = Json::array(), cached = Json::array();
  Json seed = Json::object(), truth = Json::object(), load = Json::object(), true_load = Json::object();
  for (const RungCosts& r : m.rungs) {
    const std::string key = std::to_string(r.shape);
    ladder.push(r.shape);
    if (r.cached) cached.push(r.shape);
    if (r.seed != kUnknown) seed.set(key, ms(r.seed));
    truth.set(key, ms(r.truth));
    load.set(key, ms(r.load));
    true_load.set(key, ms(r.true_load));
  }
  Json out = Json::object();
  out.set("name", m.name).set("layers", m.layers).set("ladder", ladder).set("seed_ms", seed);
  out.set("true_ms", truth).set("cached", cached).set("load_ms", load).set("true_load_ms", true_load);
  out.set("evict_ms", ms(m.evict)).set("prewarm", m.prewarm).set("reports_cache", m.reports_cache);
  return out;
}

Json happening_json(const Happening& h, const std::vector<Model>& models) {
  static constexpr const char* kOps[] = {"request", "cancel", "release", "fault", "retire", "uncache"};
  static constexpr const char* kFaults[] = {"crash", "error", "refuse", "slow"};
  Json out = Json::object();
  out.set("t", ms(h.t)).set("op", kOps[static_cast<size_t>(h.op)]);
  const Model& m = models[h.model];
  if (h.op <= Op::kRelease) out.set("id", h.id);
  if (h.op == Op::kRequest || h.op >= Op::kFault) out.set("model", m.name);
  if (h.op == Op::kRequest || h.op == Op::kUncache) out.set("shape", m.rungs[h.rung].shape);
  if (h.op == Op::kRequest) {
    if (h.deadline != kNever) out.set("deadline", ms(h.deadline));
    if (h.hold != kUnknown) out.set("hold_ms", ms(h.hold));
    if (h.take != 0) out.set("take_ms", ms(h.take));
  }
  if (h.op == Op::kFault) {
    out.set("kind", kFaults[static_cast<size_t>(h.fault)]);
    if (h.fault == FaultKind::kCrash && h.exit_after != kNever)
      out.set("exit_after_ms", ms(h.exit_after)).set("restart_ms", ms(h.restart));
    if (h.fault == FaultKind::kError && h.deterministic) out.set("deterministic", true);
    if (h.fault == FaultKind::kSlow) out.set("factor", h.factor);
  }
  return out;
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, std::string_view name) {
  if (text.starts_with(sched::kHistoryStart))
    return bad(std::string(name),
               "this is a lane's record, no workload; anelane replay decides it again and compares");
  ANELANE_ASSIGN(const Json json, parse_json(text, name));
  Workload w;
  w.options.back_off = false;
  ANELANE_TRY(read_options(json.at("options"), &w.options));
  for (const Json& m : json.at("models").as_array()) {
    const std::string where = std::string(name) + ": models[" + std::to_string(w.models.size()) + "]";
    Model model;
    ANELANE_TRY(read_model(m, where, &model));
    w.models.push_back(std::move(model));
  }
  const Names names{w.models};
  for (const Json& e : json.at("events").as_array()) {
    const std::string where = std::string(name) + ": events[" + std::to_string(w.happenings.size()) + "]";
    Happening h;
    ANELANE_TRY(read_happening(e, where, names, &h));
    if (h.op == Op::kRequest && w.models[h.model].rungs[h.rung].truth == kUnknown)
      return bad(where, "neither true_ms nor seed_ms says how long this shape takes");
    w.happenings.push_back(h);
  }
  std::stable_sort(w.happenings.begin(), w.happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.t < b.t; });
  ANELANE_TRY(read_time(json, "until", std::string(name), &w.until));
  return w;
}

std::string to_json(const Workload& w) {
  Json out = Json::object();
  Json models = Json::array(), events = Json::array();
  for (const Model& m : w.models) models.push(model_json(m));
  for (const Happening& h : w.happenings) events.push(happening_json(h, w.models));
  out.set("options", workload_options_json(w.options)).set("models", models).set("events", events);
  if (w.until != kNever) out.set("until", ms(w.until));
  return out.dump();
}

}  // namespace anelane::sim
