// How the scheduler scales: the cost of a step with few and with many waiting tickets, of ten thousand
// cancels, and of whole random histories with and without the oracle. Figures are ratios where machines
// differ.
#include <cstdio>
#include <ctime>

#include "trial.h"

namespace anelane::sim {
namespace {

using sched::EventKind;
// Of this process on its core: other work on the machine is not the scheduler's.
double seconds_of(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// A lane with `waiting` tickets, spread over the rungs of eight models, behind one long compile.
struct Crowd {
  explicit Crowd(uint64_t waiting) : scheduler(options()) {
    for (int m = 0; m < 8; ++m) {
      sched::WorkerSpec spec;
      spec.layers = 4;
      spec.seed_compile.fill(kUnknown);
      spec.seed_load.fill(kUnknown);
      for (uint32_t r = 0; r < 7; ++r) {
        spec.ladder.push_back(128u << r);
        spec.seed_compile[r] = 1'000'000 * (r + 1);
      }
      workers.push_back(scheduler.add_worker(spec));
      scheduler.step(0, {.kind = EventKind::kWorkerReady, .worker = workers.back(), .generation = 1});
    }
    ask(0, 0);
    scheduler.step(50'000, {.kind = EventKind::kTimer});
    now = 50'000;
    scheduler.step(now, {.kind = EventKind::kAdmissionSent, .worker = workers[0], .generation = 1});
    for (uint64_t i = 1; i < waiting; ++i) ask(i % 8, i / 8 % 7);
  }
  static sched::Options options() {
    sched::Options o;
    o.max_waiting = 1'000'000;
    return o;
  }
  void ask(uint64_t model, uint64_t rung) {
    scheduler.step(now, {.kind = EventKind::kRequest,
                         .worker = workers[model],
                         .rung = static_cast<uint32_t>(rung),
                         .ticket = ++last});
  }
  // A request that joins, and the cancel of an older one: two steps.
  double seconds_a_step(uint64_t rounds) {
    const auto begin = std::clock();
    for (uint64_t i = 0; i < rounds; ++i) {
      ask(i % 8, i / 8 % 7);
      scheduler.step(now, {.kind = EventKind::kCancel, .ticket = last - 500});
    }
    return seconds_of(begin) / static_cast<double>(2 * rounds);
  }
  sched::Scheduler scheduler;
  std::vector<sched::WorkerId> workers;
  Time now = 0;
  sched::TicketId last = 0;
};

void print_histories(const char* name, bool judged) {
  const auto begin = std::clock();
  uint64_t steps = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed)
    steps += run_trial(seed, {.judged = judged, .records = judged}).steps;
  std::printf("random histories, %-12s %10.0f steps a second\n", name,
              static_cast<double>(steps) / seconds_of(begin));
}

}  // namespace
}  // namespace anelane::sim

int main() {
  using anelane::sim::Crowd;
  Crowd few(1'000), many(100'000);
  few.seconds_a_step(2'000);
  many.seconds_a_step(2'000);
  const double small = few.seconds_a_step(20'000), large = many.seconds_a_step(20'000);
  std::printf("a step with 1,000 waiting tickets %.2f us, with 100,000: %.2f us, ratio %.2f\n", small * 1e6,
              large * 1e6, large / small);
  const auto begin = std::clock();
  for (anelane::sched::TicketId id = 50'000; id < 60'000; ++id)
    many.scheduler.step(many.now, {.kind = anelane::sched::EventKind::kCancel, .ticket = id});
  std::printf("cancelling 10,000 waiting tickets: %.2f ms\n", anelane::sim::seconds_of(begin) * 1e3);
  anelane::sim::print_histories("judged", true);
  anelane::sim::print_histories("not judged", false);
  return 0;
}
