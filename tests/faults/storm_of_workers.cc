// Who is struck too often is quarantined by the lane (L6.4), which would end the storm: so a model is loaded
// anew, and the old one retired, before its fifth death. Deaths of a process that was never seen do not
// exist: every strike is at a pid that the lane has named just now, held by a handle.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "host.h"
#include "load.h"
#include "storm.h"

namespace faults {
namespace {

constexpr uint32_t kDeathsEach = 2;
constexpr uint64_t kMostMs = 30'000;  // of a call: kills, back-offs and a busy machine
constexpr uint64_t kCloseMs = 10'000;

void sleep_ms(uint64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// Strikes a worker, and nobody who got its pid after it. True: it was a kill, and it arrived.
bool strike(pid_t pid, Random& random, bool* struck) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return false;
  const auto send = [&](int signal) {
    return ::syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0) == 0;
  };
  const bool kills = below(random, 2) == 0;
  if (kills) {
    *struck = send(SIGKILL);
  } else {
    *struck = send(SIGSTOP);
    sleep_ms(below(random, 30));
    send(SIGCONT);
  }
  ::close(handle);
  return kills && *struck;
}

}  // namespace

size_t storm_of_workers(const Place& place, uint64_t strikes, uint64_t seed) {
  const anelane_lane_options options = options_in(place);
  anelane_lane lane = {};
  anelane_error err = new_error();
  size_t bad = 0;
  const std::string before = inventory();
  if (anelane_lane_open(&options, in_ms(kMostMs), &lane, &err) != ANELANE_OK) {
    std::printf("open: %s\n", text_of(err).c_str());
    return 1;
  }
  uint64_t kills = 0, stops = 0;
  {
    Load load(lane, place.model);
    load.start();
    Random random(seed);
    uint32_t deaths[kModels] = {};
    while (kills + stops < strikes) {
      const size_t i = below(random, kModels);
      const pid_t pid = worker_of(lane, load.name(i));
      bool struck = false;
      if (pid > 0) {
        const bool killed = strike(pid, random, &struck);
        kills += killed ? 1 : 0;
        stops += struck && !killed ? 1 : 0;
        deaths[i] += killed ? 1 : 0;
      }
      if (deaths[i] >= kDeathsEach) {
        bad += load.renew(i) ? 0 : 1;
        deaths[i] = 0;
      }
      sleep_ms(below(random, 20));
    }
    load.stop();
    const anelane_lane_stats stats = stats_of(lane);
    std::printf(
        "%llu workers killed, %llu stopped for a moment: %llu restarts; %llu vectors right, %llu calls "
        "wrong; told %s; "
        "slowest call %llu ms\n",
        static_cast<unsigned long long>(kills), static_cast<unsigned long long>(stops),
        static_cast<unsigned long long>(stats.restarts), static_cast<unsigned long long>(load.right()),
        static_cast<unsigned long long>(load.wrong()), load.told().c_str(),
        static_cast<unsigned long long>(load.slowest_ms()));
    bad += load.wrong() + (load.right() == 0 ? 1 : 0) + (stats.restarts > kills ? 1 : 0) +
           (load.slowest_ms() > kMostMs ? 1 : 0);
  }
  const uint64_t start = anelane_now_ns();
  if (anelane_lane_close(lane, in_ms(kCloseMs), &err) != ANELANE_OK) {
    std::printf("close: %s\n", text_of(err).c_str());
    ++bad;
  }
  std::printf("closed in %llu ms\n", static_cast<unsigned long long>(ms_since(start)));
  std::string after = inventory();
  for (int i = 0; i < 50 && after != before; ++i, after = inventory()) sleep_ms(20);
  if (after != before) {
    std::printf("left behind after 1 s\nbefore\n%s\nafter\n%s\n", before.c_str(), after.c_str());
    ++bad;
  }
  return bad;
}

}  // namespace faults
