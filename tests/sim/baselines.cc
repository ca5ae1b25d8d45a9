// Small event simulations, each of one policy.
#include "baselines.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

namespace anelane::sim {
namespace {

template <typename Pick>
std::vector<size_t> by_arrival(const std::vector<Job>& jobs, Pick pick) {
  std::vector<size_t> order;
  for (size_t i = 0; i < jobs.size(); ++i)
    if (pick(jobs[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return jobs[a].arrival < jobs[b].arrival; });
  return order;
}

// Whatever can start first starts; of those that can start then, the one of the lowest rank. A job whose
// worker is busy is stepped over.
template <typename Rank>
std::vector<Time> in_order(const std::vector<Job>& jobs, Rank rank, bool workers_apart = false) {
  std::vector<Time> ready(jobs.size());
  std::vector<bool> done(jobs.size());
  std::array<Time, 2> gate{};
  uint32_t workers = 0;
  for (const Job& j : jobs) workers = std::max(workers, j.worker + 1);
  std::vector<Time> busy(workers);
  for (size_t round = 0; round < jobs.size(); ++round) {
    size_t next = jobs.size();
    std::pair<Time, Time> best{kNever, kNever};
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (done[i]) continue;
      const Job& j = jobs[i];
      const std::pair<Time, Time> mine{
          std::max({gate[j.load], j.arrival, workers_apart ? 0 : busy[j.worker]}), rank(j)};
      if (next != jobs.size() && mine >= best) continue;
      best = mine;
      next = i;
    }
    const Job& j = jobs[next];
    done[next] = true;
    ready[next] = gate[j.load] = busy[j.worker] = best.first + j.cost;
  }
  return ready;
}

struct Search {
  const std::vector<Job>& jobs;
  std::array<Time, 2> gate{};
  std::vector<Time> worker;
  std::vector<bool> placed;
  Time best = kNever;

  // In the order of their starts, every schedule without needless pauses is reached.
  void place(size_t count, Time sum, Time least_rest) {
    if (sum + least_rest >= best) return;
    if (count == jobs.size()) {
      best = sum;
      return;
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (placed[i]) continue;
      const Job& j = jobs[i];
      const Time gate_was = gate[j.load], worker_was = worker[j.worker];
      const Time ready = std::max(gate_was, worker_was) + j.cost;
      gate[j.load] = worker[j.worker] = ready;
      placed[i] = true;
      place(count + 1, sum + ready, least_rest - j.cost);
      placed[i] = false;
      gate[j.load] = gate_was;
      worker[j.worker] = worker_was;
    }
  }
};

}  // namespace

std::vector<Time> all_at_once(const std::vector<Job>& jobs, bool one_way) {
  std::vector<Time> ready(jobs.size());
  for (const bool load : {false, true}) {
    const std::vector<size_t> order =
        by_arrival(jobs, [&](const Job& j) { return (j.load && !one_way) == load; });
    std::vector<uint32_t> served(jobs.size());
    std::deque<size_t> ring;
    size_t next = 0;
    for (Time now = 0; next < order.size() || !ring.empty();) {
      if (ring.empty()) now = std::max(now, jobs[order[next]].arrival);
      while (next < order.size() && jobs[order[next]].arrival <= now) ring.push_back(order[next++]);
      const size_t i = ring.front();
      ring.pop_front();
      const Job& j = jobs[i];
      // Whole layers whose sum is the job's cost.
      const uint32_t k = served[i]++;
      now += j.cost * (k + 1) / j.layers - j.cost * k / j.layers;
      while (next < order.size() && jobs[order[next]].arrival <= now) ring.push_back(order[next++]);
      if (served[i] == j.layers)
        ready[i] = now;
      else
        ring.push_back(i);
    }
  }
  return ready;
}

std::vector<Time> first_come_first_served(const std::vector<Job>& jobs) {
  std::vector<Time> ready(jobs.size());
  Time now = 0;
  for (const size_t i : by_arrival(jobs, [](const Job&) { return true; }))
    ready[i] = now = std::max(now, jobs[i].arrival) + jobs[i].cost;
  return ready;
}

std::vector<Time> first_come_two_ways(const std::vector<Job>& jobs) {
  return in_order(jobs, [](const Job& job) { return job.arrival; });
}

std::vector<Time> lowest_key_first(const std::vector<Job>& jobs, bool workers_apart) {
  return in_order(
      jobs, [](const Job& job) { return job.arrival + job.cost; }, workers_apart);
}

std::vector<Time> shortest_first(const std::vector<Job>& jobs) {
  return in_order(jobs, [](const Job& job) { return job.cost; });
}

std::vector<Time> shortest_remaining_first(const std::vector<Job>& jobs) {
  std::vector<Time> ready(jobs.size());
  for (const bool load : {false, true}) {
    const std::vector<size_t> order = by_arrival(jobs, [&](const Job& j) { return j.load == load; });
    std::vector<std::pair<Time, size_t>> open;  // remaining
    size_t next = 0;
    for (Time now = 0; next < order.size() || !open.empty();) {
      if (open.empty()) now = std::max(now, jobs[order[next]].arrival);
      for (; next < order.size() && jobs[order[next]].arrival <= now; ++next)
        open.emplace_back(jobs[order[next]].cost, order[next]);
      const auto least = std::min_element(open.begin(), open.end());
      const Time until = next < order.size() ? jobs[order[next]].arrival : kNever;
      const Time run = std::min(least->first, until - now);
      now += run;
      least->first -= run;
      if (least->first > 0) continue;
      ready[least->second] = now;
      open.erase(least);
    }
  }
  return ready;
}

Time best_sum(const std::vector<Job>& jobs) {
  uint32_t workers = 0;
  Time all = 0;
  for (const Job& j : jobs) {
    workers = std::max(workers, j.worker + 1);
    all += j.cost;
  }
  Search search{.jobs = jobs,
                .gate = {},
                .worker = std::vector<Time>(workers),
                .placed = std::vector<bool>(jobs.size())};
  search.place(0, 0, all);
  return search.best;
}

}  // namespace anelane::sim
