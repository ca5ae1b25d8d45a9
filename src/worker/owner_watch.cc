// A pidfd names a process, not a thread and not a pipe: it fires when the owner process ends, also when a
// plain fork() of it lives on and keeps every socket and pipe open, and whatever became of the thread that
// started us.
#include "worker/owner_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#ifdef __APPLE__
#include <sys/event.h>
#include <sys/types.h>
#else
#include <sys/syscall.h>
#endif

namespace anelane::worker {

#ifdef __APPLE__

Result<UniqueFd> open_owner_watch(int) {
  const pid_t owner = ::getppid();
  UniqueFd queue(::kqueue());
  if (!queue) return error(Code::kIo, "cannot watch the owner: " + errno_text(errno));
  ::fcntl(queue.get(), F_SETFD, FD_CLOEXEC);
  struct kevent event;
  EV_SET(&event, static_cast<uintptr_t>(owner), EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, nullptr);
  const bool armed = ::kevent(queue.get(), &event, 1, nullptr, 0, nullptr) == 0;
  // Asked again after arming: an owner that died in between has handed us to another parent.
  if (owner <= 1 || !armed || ::getppid() != owner)
    return error(Code::kEngineCrashed, "the process that started this worker is gone");
  return queue;
}

#else

Result<UniqueFd> open_owner_watch(int inherited) {
  // Signal 0 through it is an error of its own kind for anything that is not a pidfd.
  if (::syscall(SYS_pidfd_send_signal, inherited, 0, nullptr, 0) != 0 && errno != EPERM) {
    if (errno == ESRCH) return error(Code::kEngineCrashed, "the process that started this worker is gone");
    return error(Code::kInvalidArgument,
                 "descriptor " + std::to_string(inherited) + " is no handle on a process");
  }
  return UniqueFd(inherited);
}

#endif

}  // namespace anelane::worker
