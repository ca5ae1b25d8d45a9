// The client is part of the world here: it asks, listens to the answer, and comes back without a deadline.
#include "honesty.h"

#include <algorithm>
#include <cmath>

namespace anelane::sim {
namespace {

constexpr uint64_t kFirstReturn = 1'000'000;   // ids of those who come back
constexpr uint64_t kFirstEarlier = 2'000'000;  // ids of those who had every shape compiled before

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
      if (a.kind == sched::ActionKind::kStartAdmission) starts_.push_back({now, a.worker, a.rung, a.is_load});
      if (a.kind != sched::ActionKind::kAnswer || a.code != Code::kShapeCompiling) continue;
      const auto [worker, rung] = asked_.at(a.ticket);
      const uint32_t model = worker - world_.worker_of(0);
      const Time due = now + static_cast<Time>(a.retry_after_ms) * 1000;
      const uint64_t id = kFirstReturn + promises_.size();
      promises_[id] = {model, rung, now, due};
      world_.add({.t = due, .id = id, .model = model, .rung = rung, .no_pin = true});
    }
  }
  // Did an admission of its own worker at the other gate start between the promise and its own start?
  bool behind_own_worker(const Promise& p) const {
    const sched::WorkerId worker = world_.worker_of(p.model);
    const auto own = std::find_if(starts_.begin(), starts_.end(), [&](const Start& s) {
      return s.worker == worker && s.rung == p.rung && s.at >= p.made;
    });
    return own != starts_.end() && std::any_of(starts_.begin(), own, [&](const Start& s) {
             return s.worker == worker && s.rung != p.rung && s.at > p.made && s.is_load != own->is_load;
           });
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
  struct Start {
    Time at;
    sched::WorkerId worker;
    uint32_t rung;
    bool is_load;
  };
  World& world_;
  std::vector<Start> starts_;
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

// What the scheduler itself would say that this costs, as of now.
Time cost_now(const World& world, const sched::Snapshot& s, uint32_t model, uint32_t rung) {
  for (const sched::WorkerView& w : s.workers)
    if (w.id == world.worker_of(model))
      return w.costs[rung].cached ? w.costs[rung].load : w.costs[rung].compile;
  return 0;
}

// Every shape is compiled once; then all workers are started anew, and the daemon holds nothing.
Time compile_everything_once(World& world, const Workload& w) {
  uint64_t id = kFirstEarlier;
  for (uint32_t m = 0; m < w.models.size(); ++m)
    for (uint32_t r = 0; r < w.models[m].rungs.size(); ++r)
      world.add({.t = 0, .id = ++id, .model = m, .rung = r, .no_pin = true});
  world.run_to(kNever);
  const Time after = world.now() + 1'000'000;
  for (uint32_t m = 0; m < w.models.size(); ++m) {
    for (uint32_t r = 0; r < w.models[m].rungs.size(); ++r)
      world.add({.t = after, .op = Op::kUncache, .model = m, .rung = r});
    world.add({.t = after, .op = Op::kFault, .model = m, .fault = FaultKind::kCrash, .exit_after = 0});
  }
  world.run_to(after + 1'000'000);
  return world.now();
}

void run_world(Draws& d, const HonestyTemper& temper, HonestyFigures* figures) {
  const Workload w =
      draw_quality_models(d, {.cache = temper.cache, .sigma = temper.sigma, .crowded = temper.crowded});
  Draws habits = d;  // the same requests, whatever the workers do
  World world(w, {.seed = habits.next(), .cost_sigma = temper.redraw_sigma});
  Clients clients(world);
  world.watch(&clients);
  world.run_to(0);
  Time t = temper.measured ? compile_everything_once(world, w) : 0;
  for (uint64_t id = 1; id <= (temper.lone ? 1u : 60u); ++id) {
    t += d.log_within(10, 60'000) * 1000;
    world.run_to(t);
    const auto model = static_cast<uint32_t>(d.below(w.models.size()));
    const auto rung = static_cast<uint32_t>(d.below(w.models[model].rungs.size()));
    const RungCosts& costs = w.models[model].rungs[rung];
    const sched::Snapshot now = world.scheduler().snapshot(t);
    const Time cost = cost_now(world, now, model, rung);
    const bool no_deadline = !temper.lone && d.chance(0.3);
    const Time deadline = t + std::max<Time>(1000, cost * d.within(1, temper.lone ? 5 : 20) / 10);
    if (temper.no_lower_keys && clients.disturbs(t, t + cost) && is_new(world, now, model, costs.shape))
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
    if (ready <= p.due + slack)
      ++figures->kept;
    else if (clients.behind_own_worker(p))
      ++figures->missed_behind_own_worker;
    figures->ratios.push_back(ready == kNever ? 1e9
                                              : static_cast<double>(std::max(p.due, ready - slack) - p.made) /
                                                    static_cast<double>(p.due - p.made));
  }
}

}  // namespace

double HonestyFigures::share_within(double factor) const {
  const auto beyond = std::upper_bound(ratios.begin(), ratios.end(), factor);
  return ratios.empty() ? 0
                        : static_cast<double>(beyond - ratios.begin()) / static_cast<double>(ratios.size());
}

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
