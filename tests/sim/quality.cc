// Ready times from the callers' view; gate times from what the scheduler was told and said, and from its
// snapshot after each step.
#include "quality.h"

#include <algorithm>
#include <optional>

namespace anelane::sim {
namespace {

class GateClock : public Watcher {
 public:
  GateClock(World& world, const Workload& workload) : world_(world), workload_(workload) {}
  const GateTimes& times() const { return times_; }

  void before(Time now, const sched::Event& e) override {
    for (const int g : {0, 1}) {
      if (work_[g]) times_.with_work[g] += now - since_;
      if (work_[g] && could_start_[g]) times_.idle[g] += now - since_;
    }
    since_ = now;
    if (e.kind == sched::EventKind::kAdmissionDone)
      for (auto& holder : holders_)
        if (holder == e.worker) holder = 0;
  }

  void after(Time now, const sched::Event&, std::span<const sched::Action> actions) override {
    for (const sched::Action& a : actions)
      if (a.kind == sched::ActionKind::kStartAdmission) holders_[a.is_load ? 1 : 0] = a.worker;
    look(now);
  }

 private:
  void look(Time now) {
    const sched::Snapshot s = world_.scheduler().snapshot(now);
    const sched::Options& o = workload_.options;
    size_t slots = 0;
    for (const sched::WorkerView& w : s.workers) slots += w.slots.size();
    for (const int g : {0, 1}) {
      work_[g] = holders_[g] != 0;
      could_start_[g] = false;
    }
    for (const sched::QueueView& q : s.queue) {
      const int g = q.is_load ? 1 : 0;
      work_[g] = true;
      const auto w = std::find_if(s.workers.begin(), s.workers.end(),
                                  [&](const sched::WorkerView& view) { return view.id == q.worker; });
      const uint32_t layers = workload_.models[static_cast<size_t>(w - s.workers.begin())].layers;
      const bool fits = s.charged + layers <= o.executable_budget && slots < o.shapes_total &&
                        w->slots.size() < o.shapes_per_model;
      const bool settled = now >= q.key - q.predicted + o.settle;
      if (holders_[g] == 0 && holders_[1 - g] != q.worker && settled && fits) could_start_[g] = true;
    }
  }

  World& world_;
  const Workload& workload_;
  sched::WorkerId holders_[2] = {};  // 0: open
  bool work_[2] = {}, could_start_[2] = {};
  Time since_ = 0;
  GateTimes times_;
};

}  // namespace

QualityRun run_quality(const Workload& workload) {
  QualityRun run;
  World world(workload);
  GateClock clock(world, workload);
  world.watch(&clock);
  world.run();
  run.gates = clock.times();
  for (const Happening& h : workload.happenings) {
    const Model& m = workload.models[h.model];
    const RungCosts& c = m.rungs[h.rung];
    run.jobs.push_back({h.t, c.cached ? c.true_load : c.truth, m.layers, h.model, c.cached});
    run.small.push_back(c.shape <= kSmallShape);
    run.ready.push_back(world.fates().at(h.id).answered);
  }
  return run;
}

const char* name_of(Policy policy) {
  static constexpr const char* kNames[kPolicies] = {
      "lane",           "all_at_once", "all_at_once_one_way",      "first_come", "first_come_two_ways",
      "shortest_first", "lowest_key",  "lowest_key_workers_apart",
  };
  return kNames[static_cast<size_t>(policy)];
}

std::vector<Time> ready_under(const QualityRun& run, Policy policy) {
  switch (policy) {
    case Policy::kLane:
      return run.ready;
    case Policy::kAllAtOnce:
      return all_at_once(run.jobs);
    case Policy::kAllAtOnceOneWay:
      return all_at_once(run.jobs, true);
    case Policy::kFirstCome:
      return first_come_first_served(run.jobs);
    case Policy::kFirstComeTwoWays:
      return first_come_two_ways(run.jobs);
    case Policy::kShortestFirst:
      return shortest_first(run.jobs);
    case Policy::kLowestKey:
      return lowest_key_first(run.jobs);
    case Policy::kLowestKeyWorkersApart:
      return lowest_key_first(run.jobs, true);
  }
  return {};
}

double mean_delay(const QualityRun& run, const std::vector<Time>& ready, Which which) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < ready.size(); ++i) {
    if (which != Which::kAll && !run.small[i]) continue;
    if (which == Which::kSmallCompiled && run.jobs[i].load) continue;
    if (which == Which::kSmallLoaded && !run.jobs[i].load) continue;
    sum += static_cast<double>(ready[i] - run.jobs[i].arrival);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

namespace {

QualityFigures::Means means_of(const QualityRun& run, const std::vector<Time>& ready) {
  return {mean_delay(run, ready, Which::kAll), mean_delay(run, ready, Which::kSmall),
          mean_delay(run, ready, Which::kSmallCompiled), mean_delay(run, ready, Which::kSmallLoaded)};
}

void add(QualityFigures::Means& sum, const QualityFigures::Means& one, double share) {
  sum.all += share * one.all;
  sum.small += share * one.small;
  sum.small_compiled += share * one.small_compiled;
  sum.small_loaded += share * one.small_loaded;
}

void lose(QualityFigures::Loss& loss, double settles, uint64_t seed) {
  if (settles > 1 + 1e-9) ++loss.beyond_one;
  if (settles <= loss.worst) return;
  loss.worst = settles;
  loss.seed = seed;
}

constexpr size_t kExhaustible = 8;  // jobs

void compare(QualityFigures& f, const QualityTemper& temper, const Workload& w, const QualityRun& run,
             uint64_t seed) {
  const auto settle = static_cast<double>(w.options.settle);
  std::array<QualityFigures::Means, kPolicies> means;
  for (size_t p = 0; p < kPolicies; ++p) {
    means[p] = means_of(run, ready_under(run, static_cast<Policy>(p)));
    add(f.means[p], means[p], 1.0 / f.worlds);
  }
  const auto of = [&](Policy policy) -> const QualityFigures::Means& {
    return means[static_cast<size_t>(policy)];
  };
  const QualityFigures::Means& ours = of(Policy::kLane);
  const QualityFigures::Means& fcfs = of(Policy::kFirstCome);
  lose(f.first_come, (ours.all - fcfs.all) / settle, seed);
  lose(f.first_come_small, (ours.small - fcfs.small) / settle, seed);
  lose(f.two_ways_small, (ours.small - of(Policy::kFirstComeTwoWays).small) / settle, seed);
  // By exhaustion where that is possible, else a bound that no schedule is below.
  const double least = temper.arrivals == Arrivals::kBatch && run.jobs.size() <= kExhaustible
                           ? static_cast<double>(best_sum(run.jobs)) / static_cast<double>(run.jobs.size())
                           : mean_delay(run, shortest_remaining_first(run.jobs), Which::kAll);
  f.least += least / f.worlds;
  f.worst_over_shortest =
      std::max(f.worst_over_shortest, (ours.all - settle) / of(Policy::kShortestFirst).all);
  if (const double over = (ours.all - settle) / least; over > f.worst_over_least) {
    f.worst_over_least = over;
    f.worst_over_least_seed = seed;
  }
}

}  // namespace

QualityFigures measure_quality(const QualityTemper& temper, uint64_t first_seed, int worlds) {
  QualityFigures f;
  f.worlds = worlds;
  for (int i = 0; i < worlds; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    Draws draws(seed);
    const Workload w = draw_quality_workload(draws, temper);
    const QualityRun run = run_quality(w);
    for (const int g : {0, 1}) {
      f.gates.with_work[g] += run.gates.with_work[g];
      f.gates.idle[g] += run.gates.idle[g];
    }
    f.shapes += run.jobs.size();
    if (!temper.crowded) compare(f, temper, w, run, seed);
  }
  return f;
}

}  // namespace anelane::sim
