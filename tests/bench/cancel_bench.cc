// What cancelling costs: ten thousand waiting requests at once, until the last callback has come; and one
// request at a time while the worker hangs in a compile (it is stopped), as the time until its callback.
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench.h"
#include "support/tiny_checkpoint.h"

namespace bench {
namespace {

std::atomic<int> g_done{0};
void on_done(void*, anelane_op, anelane_status) {
  g_done.fetch_add(1);
}
void wait_for(int count) {
  while (g_done.load() < count) std::this_thread::yield();
}

pid_t only_child() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    if (pid_t pid; list >> pid) return pid;
  }
  std::fputs("bench: there is no worker process\n", stderr);
  std::exit(1);
}

void cancel_many(const Settings& settings, const std::string& checkpoint) {
  anelane_lane_options options;
  anelane_lane_options_init(&options, sizeof options);
  options.executable_budget = 2;  // one shape of two layers
  const anelane_lane lane = open_lane(settings.work_dir + "/cancel-lane", options);
  const anelane_model model = load(lane, checkpoint, {128, 256});
  anelane_error err = new_error();
  anelane_lease lease;
  require(anelane_lease_acquire(model, 128, in_ms(60'000), &lease, &err), err);
  const int count = settings.quick ? 200 : 10'000;
  std::vector<double> ms;
  for (int round = 0; round < (settings.quick ? 1 : 9); ++round) {
    std::vector<anelane_op> ops(static_cast<size_t>(count));
    g_done = 0;
    for (anelane_op& op : ops)
      require(anelane_start_lease(model, 256, ANELANE_NO_DEADLINE, on_done, nullptr, &op, &err), err);
    anelane_lane_stats stats = {};
    stats.struct_size = sizeof stats;
    while (stats.waiting < static_cast<uint32_t>(count))
      require(anelane_lane_get_stats(lane, &stats, &err), err);
    const uint64_t start = anelane_now_ns();
    anelane_op_cancel_many(ops.data(), ops.size());
    wait_for(count);
    ms.push_back(static_cast<double>(anelane_now_ns() - start) / 1e6);
    for (const anelane_op op : ops) anelane_op_release(op);
  }
  anelane_lease_release(lease);
  close(lane);
  const auto [best, worst] = std::minmax_element(ms.begin(), ms.end());
  print("cancel_many", {{"requests", std::to_string(count)},
                        {"ms", number(median(ms))},
                        {"best_ms", number(*best)},
                        {"worst_ms", number(*worst)}});
}

void cancel_in_hang(const Settings& settings, const std::string& checkpoint) {
  const anelane_lane lane = open_lane(settings.work_dir + "/hang-lane");
  const anelane_model model = load(lane, checkpoint, {128, 256});
  anelane_error err = new_error();
  const pid_t worker = only_child();
  ::kill(worker, SIGSTOP);
  anelane_op first, op;
  require(anelane_start_lease(model, 128, in_ms(60'000), nullptr, nullptr, &first, &err), err);
  std::vector<double> ms;
  for (int round = 0; round < (settings.quick ? 20 : 2000); ++round) {
    g_done = 0;
    require(anelane_start_lease(model, 128, in_ms(60'000), on_done, nullptr, &op, &err), err);
    const uint64_t start = anelane_now_ns();
    anelane_op_cancel(op);
    wait_for(1);
    ms.push_back(static_cast<double>(anelane_now_ns() - start) / 1e6);
    anelane_op_release(op);
  }
  ::kill(worker, SIGCONT);
  require(anelane_op_wait(first, in_ms(60'000), &err), err);
  anelane_op_release(first);
  close(lane);
  std::sort(ms.begin(), ms.end());
  print("cancel_while_a_compile_hangs",
        {{"p50_ms", number(ms[ms.size() / 2], 4)}, {"p99_ms", number(ms[ms.size() * 99 / 100], 4)}});
}

}  // namespace

void cancel_benchmarks(const Settings& settings) {
  const std::string checkpoint = settings.work_dir + "/cancel-tiny";
  if (!anelane::write_tiny_checkpoint(checkpoint).ok()) std::abort();
  cancel_many(settings, checkpoint);
  cancel_in_hang(settings, checkpoint);
}

}  // namespace bench
