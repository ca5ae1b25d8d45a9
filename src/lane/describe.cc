#include "lane/describe.h"

#include "base/json.h"
#include "lane/lane.h"

namespace anelane {
namespace {

double to_ms(sched::Time t) {
  return static_cast<double>(t) / 1000;
}

Json describe_slots(const sched::WorkerView& worker) {
  Json slots = Json::array();
  for (const sched::SlotView& s : worker.slots)
    slots.push(Json::object().set("shape", s.shape).set("state", s.state).set("leases", s.leases));
  return slots;
}

Json known_ms(sched::Time t) {
  return t == sched::kUnknown ? Json() : Json(to_ms(t));
}

Json describe_costs(const sched::WorkerView& worker) {
  Json costs = Json::array();
  for (const sched::CostView& c : worker.costs)
    costs.push(Json::object()
                   .set("shape", c.shape)
                   .set("cached", c.cached)
                   .set("load_ms", known_ms(c.load))
                   .set("compile_ms", known_ms(c.compile))
                   .set("compile_measured", c.compile_known));
  return costs;
}

}  // namespace

std::string describe_lane(Lane& lane) {
  const sched::Snapshot s = lane.driver().snapshot();
  const LaneOptions& o = lane.options();
  Json out = Json::object();
  out.set("lane_id", lane.id()).set("folder", lane.folder()).set("cache_folder", lane.cache_folder());
  out.set("options", Json::object()
                         .set("worker_mode", o.thread_mode ? "thread" : "process")
                         .set("executable_budget", o.executable_budget)
                         .set("shapes_per_model", o.shapes_per_model)
                         .set("shapes_total", o.shapes_total)
                         .set("settle_ms", o.settle_ms)
                         .set("admission_bound_ms", o.admission_bound_ms));
  out.set("programs", Json::object().set("budget", s.budget).set("charged", s.charged));
  Json models = Json::array();
  for (const sched::WorkerView& w : s.workers) {
    Json m = Json::object();
    m.set("name", w.name).set("state", w.state).set("generation", w.generation).set("restarts", w.restarts);
    if (w.held_ms != 0) m.set("retry_after_ms", w.held_ms);
    if (const auto model = lane.driver().find_model(w.id)) {
      if (!model->last_fault.empty()) m.set("last_fault", model->last_fault);
      m.set("path", model->path).set("engine", model->engine).set("layers", model->summary.layers);
      m.set("vector_space", model->vector_space);
      if (const auto stream = model->stream())
        m.set("worker_pid", static_cast<int64_t>(stream->handle().pid()));
    }
    models.push(m.set("slots", describe_slots(w)).set("costs", describe_costs(w)));
  }
  out.set("models", std::move(models));
  Json queue = Json::array();
  for (const sched::QueueView& q : s.queue) {
    const auto model = lane.driver().find_model(q.worker);
    queue.push(Json::object()
                   .set("model", model ? model->name : "")
                   .set("shape", q.shape)
                   .set("waiting", q.waiting)
                   .set("predicted_ms", known_ms(q.predicted))
                   .set("kind", q.is_load ? "load" : "compile"));
  }
  out.set("queue", std::move(queue));
  out.set("counters", Json::object()
                          .set("admitted", s.admitted)
                          .set("loaded", s.loaded)
                          .set("compiled", s.compiled)
                          .set("evicted", s.evicted)
                          .set("refused", s.refused)
                          .set("restarts", s.restarts)
                          .set("answered", s.answered)
                          .set("cancelled", s.cancelled));
  out.set("machine_factor", s.machine_factor);
  return out.dump();
}

}  // namespace anelane
