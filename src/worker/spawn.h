// Starts a program with exactly the descriptors it is given, whatever state the host process is in, and hands
// back a handle on the process itself. The host's signal handling and its other children are not touched.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/status.h"

namespace anelane::worker {

struct SpawnRequest {
  std::string executable;              // absolute path
  std::vector<std::string> arguments;  // argv
  std::vector<int> descriptors;        // [i]: what the program finds as descriptor i; -1: closed there
  uint64_t deadline_ns = UINT64_MAX;   // until it runs: later, and when aborted, it is killed
  const std::atomic<bool>* abort = nullptr;
};

struct SpawnedProcess {
  pid_t pid = 0;
  fork_guard::Fd handle;  // readable when the process is gone: a pidfd; a kqueue on macOS
};

// ENGINE_UNAVAILABLE, naming path and reason, when the program cannot be started; ENGINE_CRASHED when it did
// not run before the deadline, CANCELLED when it was not wanted any more: on Linux nothing is left then. (On
// macOS the kernel starts it in one step, which the deadline does not cut.)
Result<SpawnedProcess> spawn(const SpawnRequest& request);

// A handle on this process for a worker to watch; -1 on macOS, where such handles cannot be inherited and the
// worker makes its own (owner_watch.h).
Result<UniqueFd> make_owner_handle();

// SIGKILL through the handle; a process that is gone is no error.
void kill_process(const SpawnedProcess& process);
struct ProcessEnd {
  std::string how;          // "was killed by signal 9"
  std::optional<int> code;  // where it left by itself, and that is known
};
// True once the process is gone for good; reaps it then, and says in *end what became of it.
bool reap_process(const SpawnedProcess& process, ProcessEnd* end);

}  // namespace anelane::worker
