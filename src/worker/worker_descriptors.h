// What a worker process finds open when it starts. The host and tools/worker_main.cc agree on these numbers.
#pragma once

namespace anelane::worker {

enum WorkerDescriptor : int {
  kNullFd = 0,  // /dev/null
  kOutFd = 1,   // the log pipe, as is 2: lines for the host's log hook
  kErrFd = 2,
  kStreamFd = 3,   // frames of requests and replies
  kControlFd = 4,  // PING, STOP
  kLockFd = 5,     // the lane lock; never closed (L1.2)
  kOwnerFd = 6,    // handle on the owner process; on macOS closed
  kArenaFd = 7,    // tensor memory
  kWorkerDescriptors = 8,
};

}  // namespace anelane::worker
