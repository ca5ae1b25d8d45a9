// The parent adopts what its hosts leave behind (it is their subreaper), so an orphan is a child of its own
// and a zombie is one that it collects. A host is this program again, started with a pipe on which it tells
// how far it is.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "host.h"
#include "load.h"
#include "storm.h"

extern char** environ;

namespace faults {
namespace {

constexpr uint64_t kFreeMs = 1'000;  // L1.4
constexpr uint64_t kReadyMs = 60'000;
constexpr uint64_t kSlackMs = 2'000;  // of a busy machine

// Takes the lane and says how long that took, or why it could not.
anelane_status open_lane(const Place& place, uint64_t wait_ms, anelane_lane* lane, anelane_error* err) {
  const anelane_lane_options options = options_in(place);
  return anelane_lane_open(&options, in_ms(wait_ms), lane, err);
}

struct Host {
  pid_t pid = 0;
  int tells = -1;
};

Host start_host(const Place& place) {
  int pipe[2];
  Host host;
  if (::pipe2(pipe, O_CLOEXEC) != 0) return host;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  char self[] = "/proc/self/exe", role[] = "--host";
  std::string lane = place.lane, cache = place.cache, model = place.model;
  char* argv[] = {self, role, lane.data(), cache.data(), model.data(), nullptr};
  if (::posix_spawn(&host.pid, self, &actions, nullptr, argv, environ) != 0) host.pid = 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  host.tells = pipe[0];
  return host;
}

// Until the host has said `word`.
bool has_said(const Host& host, const char* word, uint64_t wait_ms) {
  std::string said;
  const uint64_t start = anelane_now_ns();
  while (said.find(word) == std::string::npos) {
    const uint64_t gone = ms_since(start);
    pollfd entry = {host.tells, POLLIN, 0};
    if (gone >= wait_ms || ::poll(&entry, 1, static_cast<int>(wait_ms - gone)) <= 0) return false;
    char text[256];
    const ssize_t n = ::read(host.tells, text, sizeof text);
    if (n <= 0) {
      std::printf("a host has ended by itself and said: %s\n", said.c_str());
      return false;
    }
    said.append(text, static_cast<size_t>(n));
  }
  return true;
}

// Collects whoever of ours has ended; true once nobody is left.
bool nobody_left(uint64_t wait_ms) {
  const uint64_t start = anelane_now_ns();
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (children().empty()) return true;
    if (ms_since(start) > wait_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

int be_a_host(const Place& place) {
  anelane_lane lane = {};
  anelane_error err = new_error();
  if (open_lane(place, kReadyMs, &lane, &err) != ANELANE_OK) {
    std::printf("%s\n", text_of(err).c_str());
    return 1;
  }
  std::puts("open");
  std::fflush(stdout);
  Load load(lane, place.model);
  load.start();
  std::puts("ready");
  std::fflush(stdout);
  for (;;) ::pause();
}

size_t storm_of_hosts(const Place& place, uint64_t hosts, uint64_t seed) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Random random(seed);
  const std::string before = inventory();
  size_t bad = 0;
  uint64_t slowest_ms = 0;
  for (uint64_t i = 0; i < hosts; ++i) {
    const Host host = start_host(place);
    // Half of them in the middle of their work, the others wherever they are: starting workers, loading.
    const char* until = below(random, 2) == 0 ? "ready" : "open";
    if (host.pid == 0 || !has_said(host, until, kReadyMs)) ++bad;
    std::this_thread::sleep_for(std::chrono::milliseconds(below(random, 100)));
    const uint64_t killed_ns = anelane_now_ns();
    if (host.pid > 0) ::kill(host.pid, SIGKILL);
    anelane_lane lane = {};
    anelane_error err = new_error();
    // The next process gets the lane.
    if (open_lane(place, kFreeMs + kSlackMs, &lane, &err) != ANELANE_OK) {
      std::printf("host %llu: %s\n", static_cast<unsigned long long>(i), text_of(err).c_str());
      ++bad;
    } else {
      slowest_ms = std::max(slowest_ms, ms_since(killed_ns));
      anelane_lane_close(lane, in_ms(kReadyMs), nullptr);
    }
    if (!nobody_left(kFreeMs + kSlackMs)) {
      std::printf("host %llu left workers behind\n", static_cast<unsigned long long>(i));
      ++bad;
    }
    ::close(host.tells);
  }
  const std::string after = inventory();
  if (after != before) {
    std::printf("left behind\nbefore\n%s\nafter\n%s\n", before.c_str(), after.c_str());
    ++bad;
  }
  for (const auto& entry : std::filesystem::directory_iterator(place.lane)) {
    const std::string name = entry.path().filename();
    if (name == "lane.lock" || name == "lane.json") continue;
    std::printf("left in the folder of the lane: %s\n", name.c_str());
    ++bad;
  }
  std::printf("%llu hosts killed: the lane was free after at most %llu ms\n",
              static_cast<unsigned long long>(hosts), static_cast<unsigned long long>(slowest_ms));
  return bad;
}

}  // namespace faults
