// The lease fast path: taking and giving back a resident shape against an uncontended mutex, lock and unlock;
// and what a second thread costs, on another shape and on the same one; beside it, what a second thread with
// a mutex of its own costs one that has another: the machine's own share (its two processors may be one
// core's). The mutexes are pthread's default, each alone on its cache lines.
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench.h"
#include "support/tiny_checkpoint.h"

namespace bench {
namespace {

constexpr uint64_t kForever = ANELANE_NO_DEADLINE;

double lease_ns(anelane_model model, uint32_t shape, int count) {
  anelane_error err = new_error();
  const uint64_t start = anelane_now_ns();
  for (int i = 0; i < count; ++i) {
    anelane_lease lease;
    if (anelane_lease_acquire(model, shape, kForever, &lease, &err) != ANELANE_OK) require(err.status, err);
    anelane_lease_release(lease);
  }
  return static_cast<double>(anelane_now_ns() - start) / count;
}

struct alignas(128) PrivateMutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};
PrivateMutex g_mutexes[2];

double mutex_ns(int count, int which = 0) {
  pthread_mutex_t& mutex = g_mutexes[which].mutex;
  const uint64_t start = anelane_now_ns();
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return static_cast<double>(anelane_now_ns() - start) / count;
}

uint64_t cpu_ns() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Two threads at once; the mean time of an operation of one thread. On a busy machine one of them may wait
// for a processor while the other works alone, which would say nothing: such a try is done again.
struct AtOnce {
  uint64_t tries = 0, good = 0;

  double ns(const std::function<double()>& first, const std::function<double()>& second) {
    constexpr int kTriesMax = 100;
    double mean = 0;
    for (int i = 0; i < kTriesMax; ++i) {
      ++tries;
      if (!once(first, second, &mean)) continue;
      ++good;
      break;
    }
    return mean;
  }

 private:
  struct Block {
    double ns = 0;
    uint64_t start = 0, end = 0, cpu = 0;
    bool undisturbed() const { return cpu * 20 >= (end - start) * 19; }
  };
  static bool once(const std::function<double()>& first, const std::function<double()>& second,
                   double* mean) {
    std::atomic<int> ready = 0;
    Block blocks[2];
    const auto body = [&](Block* block, const std::function<double()>& work) {
      ready.fetch_add(1);
      while (ready.load() < 2) std::this_thread::yield();
      const uint64_t cpu = cpu_ns();
      block->start = anelane_now_ns();
      block->ns = work();
      block->end = anelane_now_ns();
      block->cpu = cpu_ns() - cpu;
    };
    std::thread other([&] { body(&blocks[1], second); });
    body(&blocks[0], first);
    other.join();
    *mean = (blocks[0].ns + blocks[1].ns) / 2;
    const uint64_t from = std::max(blocks[0].start, blocks[1].start);
    const uint64_t to = std::min(blocks[0].end, blocks[1].end);
    const uint64_t longer = std::max(blocks[0].end - blocks[0].start, blocks[1].end - blocks[1].start);
    return blocks[0].undisturbed() && blocks[1].undisturbed() && to > from && (to - from) * 10 >= longer * 8;
  }
};

// What the second thread costs, as a ratio, in several rounds: the median round, and the worst.
struct Slowdown {
  double ns = 0, alone_ns = 0, ratio = 0, worst_round = 0, at_once_percent = 0;
};
Slowdown slowdown(const Settings& settings, const std::function<double()>& first,
                  const std::function<double()>& second) {
  const int rounds = settings.quick ? 1 : 9, repetitions = settings.quick ? 3 : 61;
  std::vector<double> ns, alone_ns, ratios;
  AtOnce at_once;
  for (int round = 0; round < rounds; ++round) {
    const auto [two, one] = interleave(
        repetitions, [&] { return at_once.ns(first, second); }, first);
    ns.push_back(two);
    alone_ns.push_back(one);
    ratios.push_back(two / one);
  }
  return {median(ns), median(alone_ns), median(ratios), *std::max_element(ratios.begin(), ratios.end()),
          100 * static_cast<double>(at_once.good) / static_cast<double>(at_once.tries)};
}

}  // namespace

void lease_benchmarks(const Settings& settings) {
  const std::string checkpoint = settings.work_dir + "/lease-tiny";
  if (!anelane::write_tiny_checkpoint(checkpoint).ok()) std::abort();
  const anelane_lane lane = open_lane(settings.work_dir + "/lease-lane");
  const anelane_model model = load(lane, checkpoint, {128, 256});
  anelane_error err = new_error();
  for (const uint32_t shape : {128u, 256u}) require(anelane_admit(model, shape, in_ms(60'000), &err), err);

  // Blocks of about a tenth of a millisecond: most of them are over before anything else gets the processor.
  const int count = 5'000;
  const int repetitions = settings.quick ? 3 : 501;
  const auto [lease, mutex] = interleave(
      repetitions, [&] { return lease_ns(model, 128, count); }, [&] { return mutex_ns(count); });
  print("lease_release",
        {{"lease_ns", number(lease, 1)}, {"mutex_ns", number(mutex, 1)}, {"ratio", number(lease / mutex)}});
  const auto wide = [&] { return lease_ns(model, 256, count); };
  const auto small = [&] { return lease_ns(model, 128, count); };
  const Slowdown mutexes = slowdown(
      settings, [&] { return mutex_ns(count); }, [&] { return mutex_ns(count, 1); });
  const auto show = [](const char* name, const Slowdown& s,
                       std::vector<std::pair<std::string, std::string>> more) {
    std::vector<std::pair<std::string, std::string>> members{
        {"ns", number(s.ns, 1)},
        {"one_thread_ns", number(s.alone_ns, 1)},
        {"ratio", number(s.ratio)},
        {"worst_round", number(s.worst_round)},
        {"at_once_percent", number(s.at_once_percent, 1)}};
    members.insert(members.end(), more.begin(), more.end());
    print(name, members);
  };
  show("lease_two_threads_two_shapes", slowdown(settings, small, wide),
       {{"private_mutexes_ratio", number(mutexes.ratio)}});
  show("lease_two_threads_one_shape", slowdown(settings, small, small), {});
  close(lane);
}

}  // namespace bench
