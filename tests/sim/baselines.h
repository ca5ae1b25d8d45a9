// What other ways of compiling the same shapes would give: when each would be ready. They know arrivals and
// true costs, and nothing of the scheduler.
#pragma once
#include <vector>

#include "workload.h"

namespace anelane::sim {

// One shape that has to become resident. Compiles share one compiler; cached loads share another way in, and
// a worker serves one of its own at a time.
struct Job {
  Time arrival = 0;
  Time cost = 0;
  uint32_t layers = 1;
  uint32_t worker = 0;
  bool load = false;
};

// Each returns the time at which each job is ready, in the order of `jobs`.

// Everybody starts at once, and the compiler serves one layer at a time, in turn. Nobody's worker is in the
// way: each of them would have to do several things at a time. Cached loads have a way in of their own where
// the same is done; or (`one_way`) their layers take their turns among the compiler's.
std::vector<Time> all_at_once(const std::vector<Job>& jobs, bool one_way = false);
// Plain: one after the other in the order of arrival, whatever it is; no settle.
std::vector<Time> first_come_first_served(const std::vector<Job>& jobs);
// First come, first served, at each of the lane's two ways in; no settle. A job whose worker is busy is
// stepped over.
std::vector<Time> first_come_two_ways(const std::vector<Job>& jobs);
// The lane's own order, arrival + cost, at each of its two ways in; no settle. `workers_apart`: as if a
// worker could load one shape while it compiles another.
std::vector<Time> lowest_key_first(const std::vector<Job>& jobs, bool workers_apart = false);
// The shortest that is there first, at each of the two ways in, knowing the true costs; no settle.
std::vector<Time> shortest_first(const std::vector<Job>& jobs);
// Shortest remaining first, interrupting at no cost, workers never in the way: no schedule has a lower sum.
std::vector<Time> shortest_remaining_first(const std::vector<Job>& jobs);
// The lowest sum of ready times of jobs that are all there at the start, by exhaustion: at most ten jobs.
Time best_sum(const std::vector<Job>& jobs);

}  // namespace anelane::sim
