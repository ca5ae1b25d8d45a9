// Each habit is about something that the process has once only: its children, signals, descriptors, its end.
// So each is lived in a process of its own, which habits_test starts, watches and outlives.
#include "habits.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "host.h"
#include "load.h"
#include "small_host.h"

namespace faults {
namespace {

constexpr int kMany = 10'000;

int fail(const char* what) {
  std::printf("%s\n", what);
  return 1;
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

// A whole life with the death of a worker in it, and the right vectors before and after.
int whole_life(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  const anelane_model model = load_tiny(lane, place);
  const std::vector<float> right = embed_well(model);
  for (int i = 0; i < 3; ++i) {
    const pid_t worker = worker_of(lane, "tiny");
    if (worker <= 0) return fail("nobody serves the model");
    ::kill(worker, SIGKILL);
    if (embed_after_fault(model) != right) return fail("a wrong vector after a death");
    if (worker_of(lane, "tiny") == worker) return fail("the dead worker is named still");
  }
  if (stats_of(lane).restarts != 3) return fail("not three restarts");
  close_lane(lane);
  return 0;
}

int reaps_all_children(const Place& place) {
  std::thread([] {
    for (;;)
      if (::waitpid(-1, nullptr, 0) < 0) ::usleep(200);
  }).detach();
  return whole_life(place);
}

int ignores_sigchld(const Place& place) {
  ::signal(SIGCHLD, SIG_IGN);
  const int code = whole_life(place);
  struct sigaction now {};
  ::sigaction(SIGCHLD, nullptr, &now);
  return now.sa_handler == SIG_IGN ? code : fail("SIGCHLD is no longer ignored");
}

// Its own children are collected by it alone, with the status that they left, whatever the library does
// meanwhile.
int waits_for_its_own(const Place& place) {
  std::set<pid_t> own;
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(7);
    own.insert(pid);
  }
  if (whole_life(place) != 0) return 1;
  for (const pid_t pid : own) {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
      return fail("a child of the host's own was collected by somebody else");
  }
  return 0;
}

// What the process has open, as the kernel names it.
std::multiset<std::string> open_in(pid_t pid) {
  std::multiset<std::string> targets;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(dir)) {
      char target[512] = "";
      if (::readlink((folder + '/' + entry->d_name).c_str(), target, sizeof target - 1) > 0)
        targets.insert(target);
    }
    ::closedir(dir);
  }
  return targets;
}

int has_many_descriptors(const Place& place) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const std::string marker = place.model + "/config.json";
  const int source = ::open(marker.c_str(), O_RDONLY);  // no close-on-exec: nor have its copies
  for (int i = 1; i < kMany; ++i)
    if (::dup(source) < 0) return fail("this machine does not allow 10,000 descriptors");
  const anelane_lane lane = open_lane(options_in(place));
  const anelane_model model = load_tiny(lane, place);
  embed_well(model);
  if (open_in(::getpid()).count(marker) != kMany) return fail("the host lost descriptors");
  const auto found = open_in(worker_of(lane, "tiny"));
  std::printf("the worker has %zu descriptors\n", found.size());
  if (found.empty() || found.size() > 16) return fail("these are not those of a worker");
  if (found.count(marker) != 0) return fail("descriptors of the host reached the worker");
  close_lane(lane);
  return 0;
}

// Until it is killed.
int forks_workers_of_its_own(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  Load load(lane, place.model);
  for (size_t i = 0; i < kForked; ++i)
    if (::fork() == 0)
      for (;;) ::pause();
  load.start();
  say("ready");
  for (;;) ::pause();
}

// exit in the child runs destructors and handlers over copies of everything that the parent has.
int forked_child_exits(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  const anelane_model model = load_tiny(lane, place);
  const std::vector<float> right = embed_well(model);
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<float> row;
    if (embed_short(model, 1000, &row, nullptr) != ANELANE_FORKED) ::_exit(1);
    std::exit(kForkedChild);
  }
  int status = 0;
  if (!becomes_true(kBoundMs, [&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
    ::kill(child, SIGKILL);
    return fail("the forked child did not end");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kForkedChild) return fail("the forked child ended badly");
  if (embed_well(model) != right) return fail("a wrong vector after the child's end");
  if (stats_of(lane).restarts != 0) return fail("the child's end cost a worker");
  close_lane(lane);
  return 0;
}

int exits_in_a_callback(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  const anelane_model model = load_tiny(lane, place);
  anelane_op op = {};
  anelane_error err = new_error();
  const auto leave = [](void*, anelane_op, anelane_status) { std::exit(kInCallback); };
  require(start_embed_short(model, kBoundMs, leave, nullptr, &op, &err), "start", err);
  for (;;) ::pause();
}

int leaves_by_quick_exit(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  embed_well(load_tiny(lane, place));
  std::quick_exit(kQuick);
}

// Eight threads are in the middle of calls, and nobody waits for them.
int exits_under_load(const Place& place) {
  const anelane_lane lane = open_lane(options_in(place));
  static Load* load = new Load(lane, place.model);
  load->start();
  const auto some = [] { return load->right() > 50; };
  if (!becomes_true(kBoundMs, some)) return fail("the load does not run");
  std::exit(kUnderLoad);
}

}  // namespace

int live(const std::string& habit, const Place& place) {
  static constexpr struct {
    const char* name;
    int (*live)(const Place&);
  } kHabits[] = {{"reaps_all_children", reaps_all_children},
                 {"ignores_sigchld", ignores_sigchld},
                 {"waits_for_its_own", waits_for_its_own},
                 {"has_many_descriptors", has_many_descriptors},
                 {"forks_workers_of_its_own", forks_workers_of_its_own},
                 {"forked_child_exits", forked_child_exits},
                 {"exits_in_a_callback", exits_in_a_callback},
                 {"leaves_by_quick_exit", leaves_by_quick_exit},
                 {"exits_under_load", exits_under_load}};
  for (const auto& h : kHabits)
    if (habit == h.name) return h.live(place);
  return fail("no such habit");
}

}  // namespace faults
