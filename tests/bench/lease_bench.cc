// The lease fast path: taking and giving back a resident shape against an uncontended mutex, lock and unlock;
// and what a second thread costs, on another shape and on the same one. The mutex is pthread's default, alone
// on its cache line.
#include <pthread.h>

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

double mutex_ns(int count) {
  alignas(64) static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const uint64_t start = anelane_now_ns();
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return static_cast<double>(anelane_now_ns() - start) / count;
}

// Two threads at once, each on its shape; the mean time of an operation of one thread.
double two_threads_ns(anelane_model model, uint32_t first, uint32_t second, int count) {
  std::atomic<int> ready = 0;
  double ns[2] = {0, 0};
  const auto body = [&](int index, uint32_t shape) {
    ready.fetch_add(1);
    while (ready.load() < 2) std::this_thread::yield();
    ns[index] = lease_ns(model, shape, count);
  };
  std::thread other(body, 1, second);
  body(0, first);
  other.join();
  return (ns[0] + ns[1]) / 2;
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
  const auto [apart, alone] = interleave(
      repetitions, [&] { return two_threads_ns(model, 128, 256, count); },
      [&] { return lease_ns(model, 128, count); });
  print("lease_two_threads_two_shapes",
        {{"ns", number(apart, 1)}, {"one_thread_ns", number(alone, 1)}, {"ratio", number(apart / alone)}});
  const auto [together, single] = interleave(
      repetitions, [&] { return two_threads_ns(model, 128, 128, count); },
      [&] { return lease_ns(model, 128, count); });
  print("lease_two_threads_one_shape", {{"ns", number(together, 1)},
                                        {"one_thread_ns", number(single, 1)},
                                        {"ratio", number(together / single)}});
  close(lane);
}

}  // namespace bench
