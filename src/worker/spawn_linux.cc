// clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD): what posix_spawn does, plus a pidfd that is ours from the
// first instant, so that nobody who reaps all children of the host can make us name a stranger.
//
// The child shares our memory until exec and the launching thread sleeps meanwhile, so the child side (enter)
// may do very little: no allocation, no locks, no libc call with state. It makes bare system calls only,
// which also keeps sanitizers' interceptors from writing the child's deeds into the shared books of the host.
// All signals, the C library's own included, are blocked around it: no handler of the host may run in the
// child, and the mask it inherits is the one it then empties itself. Should the child get stuck on its way,
// it is killed at the deadline by a thread that watches meanwhile (spawn_watch.h): that lets the launching
// thread go.
#ifndef __APPLE__
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/limits.h"
#include "worker/spawn.h"
#include "worker/spawn_watch.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#error "the child side runs on a foreign stack: no MemorySanitizer"
#endif
#endif
#define ANELANE_UNWATCHED __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

// ThreadSanitizer takes any clone() for a fork and marks the "child" in its books, which are the host's here:
// from then on it would overlook the locks of the launching thread. The C library's other name for it is not
// watched.
#if defined(__SANITIZE_THREAD__)
#define ANELANE_CLONE_UNWATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANELANE_CLONE_UNWATCHED 1
#endif
#endif
#ifdef ANELANE_CLONE_UNWATCHED
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#define ANELANE_CLONE __clone
#else
#define ANELANE_CLONE ::clone
#endif

namespace anelane::worker {
namespace {

constexpr int kMaxDescriptors = 16;
constexpr size_t kStackBytes = 64 * 1024;
constexpr int kIdTypePidfd = 3;  // P_PIDFD; older headers lack the name
constexpr size_t kKernelMaskBytes = 8;
constexpr int kSignals = 64;
#ifndef SYS_close_range
constexpr long SYS_close_range = 436;
#endif

// Read by the child, which writes `error` only.
struct ChildPlan {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  std::array<int, kMaxDescriptors> source{};
  int count = 0;
  uint64_t most_descriptors = 0;
  volatile int error = 0;
};

ANELANE_UNWATCHED int arrange_descriptors(ChildPlan* plan) {
  int high[kMaxDescriptors];
  for (int i = 0; i < plan->count; ++i) {
    high[i] = -1;
    if (plan->source[static_cast<size_t>(i)] < 0) continue;
    // Out of the way first: a source may have the number that another one needs.
    high[i] = static_cast<int>(
        syscall(SYS_fcntl, plan->source[static_cast<size_t>(i)], F_DUPFD_CLOEXEC, kMaxDescriptors));
    if (high[i] < 0) return errno == EINVAL ? EMFILE : errno;  // the limit is below kMaxDescriptors
  }
  for (int i = 0; i < plan->count; ++i) {
    if (high[i] < 0)
      syscall(SYS_close, i);
    else if (syscall(SYS_dup3, high[i], i, 0) < 0)
      return errno;
  }
  if (syscall(SYS_close_range, plan->count, ~0u, 0) == 0) return 0;
  // An old kernel, or a sandbox that does not know the call.
  for (uint64_t fd = static_cast<uint64_t>(plan->count); fd < plan->most_descriptors; ++fd)
    syscall(SYS_close, static_cast<int>(fd));
  return 0;
}

ANELANE_UNWATCHED void reset_signals() {
  alignas(8) char action[64] = {};  // SIG_DFL, no flags, whatever the layout of the kernel's struct
  for (int signal = 1; signal <= kSignals; ++signal)
    syscall(SYS_rt_sigaction, signal, action, nullptr, kKernelMaskBytes);
  uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kKernelMaskBytes);
}

ANELANE_UNWATCHED int enter(void* argument) {
  ChildPlan* plan = static_cast<ChildPlan*>(argument);
  int why = arrange_descriptors(plan);
  if (why == 0) {
    reset_signals();
    syscall(SYS_execve, plan->path, plan->argv, plan->envp);
    why = errno;
  }
  plan->error = why;
  for (;;) syscall(SYS_exit_group, 127);
}

class ChildStack {
 public:
  ChildStack()
      : base_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                     -1, 0)) {
    if (base_ != MAP_FAILED) ::mprotect(base_, 4096, PROT_NONE);  // an overflow faults instead of spreading
  }
  ~ChildStack() {
    if (base_ != MAP_FAILED) ::munmap(base_, kStackBytes);
  }
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  bool valid() const { return base_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(base_) + kStackBytes; }

 private:
  void* base_;
};

class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    const uint64_t all = ~uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, kKernelMaskBytes);
  }
  ~AllSignalsBlocked() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, kKernelMaskBytes); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  uint64_t before_ = 0;
};

// The host's environment without the variable that led to this program: it is about the library, not about
// it.
std::vector<char*> child_environment() {
  constexpr std::string_view kOurs = "ANELANE_WORKER=";
  std::vector<char*> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::strncmp(*entry, kOurs.data(), kOurs.size()) != 0) entries.push_back(*entry);
  entries.push_back(nullptr);
  return entries;
}

Status start_error(const std::string& path, int why) {
  Status status = error(Code::kEngineUnavailable, "cannot start the worker " + path + ": " + errno_text(why));
  return std::move(status).with_class(is_shortage(why));
}

Status late_error(const SpawnRequest& request) {
  if (request.abort != nullptr && request.abort->load())
    return error(Code::kCancelled, "the worker is not wanted any more");
  return error(
      Code::kEngineCrashed,
      "the worker " + request.executable +
          " did not begin to run in time and was ended: was it stopped, or is its file out of reach?");
}

siginfo_t wait_for(int pidfd, int flags, int* why) {
  siginfo_t info{};
  int n = 0;
  do
    n = ::waitid(static_cast<idtype_t>(kIdTypePidfd), static_cast<id_t>(pidfd), &info,
                 WEXITED | __WALL | flags);
  while (n != 0 && errno == EINTR);
  *why = n == 0 ? 0 : errno;
  return info;
}

}  // namespace

Result<SpawnedProcess> spawn(const SpawnRequest& request) {
  ChildPlan plan;
  if (request.descriptors.size() > kMaxDescriptors)
    return error(Code::kInternal, "a worker cannot be given " + std::to_string(request.descriptors.size()) +
                                      " descriptors, at most " + std::to_string(kMaxDescriptors));
  std::vector<char*> argv;
  for (const std::string& argument : request.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> envp = child_environment();
  plan.path = request.executable.c_str();
  plan.argv = argv.data();
  plan.envp = envp.data();
  plan.count = static_cast<int>(request.descriptors.size());
  for (size_t i = 0; i < request.descriptors.size(); ++i) plan.source[i] = request.descriptors[i];
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  plan.most_descriptors = files.rlim_cur == RLIM_INFINITY ? (1u << 20) : files.rlim_cur;

  const ChildStack stack;
  if (!stack.valid()) return start_error(request.executable, ENOMEM);
  Result<std::unique_ptr<SpawnWatch>> watch = SpawnWatch::start(request.deadline_ns, request.abort);
  if (!watch.ok()) return start_error(request.executable, EAGAIN);
  pid_t pid = -1;
  int why = 0;
  {
    const AllSignalsBlocked blocked;
    pid = ANELANE_CLONE(enter, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan,
                        (*watch)->handle());
    why = errno;
  }
  const bool killed = (*watch)->stop();
  if (pid < 0) return start_error(request.executable, why);
  SpawnedProcess process{pid, fork_guard::Fd(above_stdio(UniqueFd(*(*watch)->handle())))};
  if (killed) {
    pollfd gone{process.handle.get(), POLLIN, 0};
    if (::poll(&gone, 1, limits::kExitAskMs) > 0) wait_for(process.handle.get(), 0, &why);
    return late_error(request);
  }
  if (plan.error != 0) {
    wait_for(process.handle.get(), 0, &why);  // it has left already: vfork returned
    return start_error(request.executable, plan.error);
  }
  return process;
}

Result<UniqueFd> make_owner_handle() {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (fd) return above_stdio(std::move(fd));
  const int why = errno;
  Status status = error(Code::kEngineUnavailable,
                        "cannot make a handle on this process for its workers: " + errno_text(why) +
                            (why == ENOSYS ? " (Linux 5.4 or later is needed)" : ""));
  return std::move(status).with_class(is_shortage(why));
}

void kill_process(const SpawnedProcess& process) {
  syscall(SYS_pidfd_send_signal, process.handle.get(), SIGKILL, nullptr, 0);
}

bool reap_process(const SpawnedProcess& process, ProcessEnd* end) {
  int why = 0;
  const siginfo_t info = wait_for(process.handle.get(), WNOHANG, &why);
  if (why == ECHILD) {
    end->how = "has ended (how is not known: this program collected its status)";
    return true;
  }
  if (why != 0) {
    end->how = "has ended (how is not known: " + errno_text(why) + ")";
    return true;
  }
  if (info.si_pid == 0) return false;
  if (info.si_code == CLD_EXITED) end->code = info.si_status;
  end->how = (end->code ? "ended with code " : "was killed by signal ") + std::to_string(info.si_status);
  return true;
}

}  // namespace anelane::worker
#endif
