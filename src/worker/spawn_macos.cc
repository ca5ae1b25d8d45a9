// posix_spawn with everything closed but what is named, default dispositions and an empty mask. The handle is
// a kqueue with a process event, armed before the worker gets its first byte: until then it cannot have ended
// for a reason of ours, and a process that is gone already makes the arming fail with ESRCH, which is an
// answer as well. Nobody but us can reuse its pid before it is reaped, and the kill goes out only while the
// event has not fired.
#ifdef __APPLE__
#include <crt_externs.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "worker/spawn.h"

namespace anelane::worker {
namespace {

class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
  }
  ~SpawnAttributes() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  void reset_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT);
  }
  int give(int source, int target) { return ::posix_spawn_file_actions_adddup2(&actions_, source, target); }
  const posix_spawnattr_t* attributes() const { return &attributes_; }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

std::vector<char*> child_environment() {
  constexpr std::string_view kOurs = "ANELANE_WORKER=";
  std::vector<char*> entries;
  for (char** entry = *_NSGetEnviron(); entry != nullptr && *entry != nullptr; ++entry)
    if (std::strncmp(*entry, kOurs.data(), kOurs.size()) != 0) entries.push_back(*entry);
  entries.push_back(nullptr);
  return entries;
}

Status start_error(const std::string& path, int why) {
  Status status = error(Code::kEngineUnavailable, "cannot start the worker " + path + ": " + errno_text(why));
  return std::move(status).with_class(is_shortage(why));
}

bool fired(int queue) {
  pollfd entry{queue, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

Result<SpawnedProcess> spawn(const SpawnRequest& request) {
  std::vector<char*> argv;
  for (const std::string& argument : request.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> envp = child_environment();
  SpawnAttributes setup;
  setup.reset_signals();
  // Out of the way first: a source may have the number that another one needs.
  std::vector<UniqueFd> high(request.descriptors.size());
  for (size_t i = 0; i < request.descriptors.size(); ++i) {
    if (request.descriptors[i] < 0) continue;
    high[i] = UniqueFd(
        ::fcntl(request.descriptors[i], F_DUPFD_CLOEXEC, static_cast<int>(request.descriptors.size())));
    if (!high[i]) return start_error(request.executable, errno);
    const int why = setup.give(high[i].get(), static_cast<int>(i));
    if (why != 0) return start_error(request.executable, why);
  }
  UniqueFd queue(::kqueue());
  if (!queue) return start_error(request.executable, errno);
  ::fcntl(queue.get(), F_SETFD, FD_CLOEXEC);
  queue = above_stdio(std::move(queue));
  pid_t pid = 0;
  const int why = ::posix_spawn(&pid, request.executable.c_str(), setup.actions(), setup.attributes(),
                                argv.data(), envp.data());
  if (why != 0) return start_error(request.executable, why);
  struct kevent event;
  EV_SET(&event, static_cast<uintptr_t>(pid), EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, nullptr);
  if (::kevent(queue.get(), &event, 1, nullptr, 0, nullptr) != 0) {
    const int arming = errno;
    int status = 0;
    if (arming != ESRCH) ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return error(Code::kEngineCrashed, "the worker " + request.executable + " has ended at once");
  }
  return SpawnedProcess{pid, fork_guard::Fd(std::move(queue))};
}

Result<UniqueFd> make_owner_handle() {
  return UniqueFd();
}

void kill_process(const SpawnedProcess& process) {
  if (!fired(process.handle.get())) ::kill(process.pid, SIGKILL);
}

bool reap_process(const SpawnedProcess& process, ProcessEnd* end) {
  if (!fired(process.handle.get())) return false;
  int status = 0;
  pid_t pid = 0;
  do pid = ::waitpid(process.pid, &status, WNOHANG);
  while (pid < 0 && errno == EINTR);
  if (pid < 0)
    end->how = "has ended (how is not known: this program collected its status)";
  else if (pid == 0)
    return false;
  else if (WIFSIGNALED(status))
    end->how = "was killed by signal " + std::to_string(WTERMSIG(status));
  else
    end->how = "ended with code " + std::to_string(*(end->code = WEXITSTATUS(status)));
  return true;
}

}  // namespace anelane::worker
#endif
