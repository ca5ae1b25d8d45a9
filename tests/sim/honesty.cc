// The client is part of the world here: it asks, listens to the answer, and comes back without a deadline.
#include "honesty.h"

#include <algorithm>
#include <cmath>

namespace anelane::sim {
namespace {

constexpr uint64_t kFirstReturn = 1'000'000;  // ids of those who come back

class Clients : public Watcher {
 public:
  explicit Clients(World& world) : world_(world) {}

  struct Promise {
    uint32_t model, rung;
    Time made, due;
  };
  // By id of the request that comes back.
  const std::map<uint64_t, Promise>& promises() const { return promises_; }

  void before(Time, const sched::Event& e) override {
    if (e.kind == sched::EventKind::kRequest) asked_[e.ticket] = {e.worker, e.rung};
  }
  void after(Time now, const sched::Event&, std::span<const sched::Action> actions) override {
    for (const sched::Action& a : actions) {
      if (a.kind != sched::ActionKind::kAnswer || a.code != Code::kShapeCompiling) continue;
      const auto [worker, rung] = asked_.at(a.ticket);
      const uint32_t model = worker - world_.worker_of(0);
      const Time due = now + static_cast<Time>(a.retry_after_ms) * 1000;
      const uint64_t id = kFirstReturn + promises_.size();
      promises_[id] = {model, rung, now, due};
      world_.add({.t = due, .id = id, .model = model, .rung = rung, .no_pin = true});
    }
  }
  // Would an entry with this key go before a shape that is promised?
  bool disturbs(Time now, Time key) const {
    const sched::Snapshot s = world_.scheduler().snapshot(now);
    return std::any_of(s.queue.begin(), s.queue.end(), [&](const sched::QueueView& q) {
      return q.key >= key && std::any_of(promises_.begin(), promises_.end(), [&](const auto& p) {
               return p.second.due > now && world_.worker_of(p.second.model) == q.worker;
             });
    });
  }

 private:
  World& world_;
  std::map<sched::TicketId, std::pair<sched::WorkerId, uint32_t>> asked_;
  std::map<uint64_t, Promise> promises_;
};

// Is this shape asked for already, or there?
bool is_new(const World& world, const sched::Snapshot& s, uint32_t model, uint32_t shape) {
  const sched::WorkerId id = world.worker_of(model);
  for (const sched::QueueView& q : s.queue)
    if (q.worker == id && q.shape == shape) return false;
  for (const sched::WorkerView& w : s.workers)
    for (const sched::SlotView& v : w.slots)
      if (w.id == id && v.shape == shape) return false;
  return true;
}

void run_world(Draws& d, const HonestyTemper& temper, HonestyFigures* figures) {
  const Workload w =
      draw_quality_models(d, {.cache = temper.cache, .sigma = temper.sigma, .crowded = temper.crowded});
  World world(w);
  Clients clients(world);
  world.watch(&clients);
  world.run_to(0);
  Time t = 0;
  for (uint64_t id = 1; id <= (temper.lone ? 1u : 60u); ++id) {
    t += d.log_within(10, 60'000) * 1000;
    world.run_to(t);
    const auto model = static_cast<uint32_t>(d.below(w.models.size()));
    const auto rung = static_cast<uint32_t>(d.below(w.models[model].rungs.size()));
    const RungCosts& costs = w.models[model].rungs[rung];
    const Time cost = predicted_cost(costs);
    const bool no_deadline = !temper.lone && d.chance(0.3);
    const Time deadline = t + std::max<Time>(1000, cost * d.within(1, temper.lone ? 5 : 20) / 10);
    if (temper.no_lower_keys && clients.disturbs(t, t + cost) &&
        is_new(world, world.scheduler().snapshot(t), model, costs.shape))
      continue;
    Happening h{.t = t, .id = id, .model = model, .rung = rung, .no_pin = !temper.crowded};
    h.deadline = no_deadline ? kNever : deadline;
    h.hold = d.log_within(1, 2000) * 1000;
    world.add(h);
    world.run_to(t);
  }
  world.run_to(kNever);
  const Time slack = 2 * w.options.settle;
  for (const auto& [id, p] : clients.promises()) {
    const World::Fate& fate = world.fates().at(id);
    const Time ready = fate.code == Code::kOk && fate.answered != kUnknown ? fate.answered : kNever;
    ++figures->promises;
    figures->kept += ready <= p.due + slack ? 1 : 0;
    figures->ratios.push_back(ready == kNever ? 1e9
                                              : static_cast<double>(std::max(p.due, ready - slack) - p.made) /
                                                    static_cast<double>(p.due - p.made));
  }
}

}  // namespace

double HonestyFigures::factor_for(double share) const {
  if (ratios.empty()) return 0;
  const auto at = static_cast<size_t>(std::ceil(share * static_cast<double>(ratios.size())));
  return ratios[std::clamp<size_t>(at, 1, ratios.size()) - 1];
}

HonestyFigures measure_honesty(const HonestyTemper& temper, uint64_t first_seed, int worlds) {
  HonestyFigures figures;
  for (int i = 0; i < worlds; ++i) {
    Draws draws(first_seed + static_cast<uint64_t>(i));
    run_world(draws, temper, &figures);
  }
  std::sort(figures.ratios.begin(), figures.ratios.end());
  return figures;
}

}  // namespace anelane::sim
