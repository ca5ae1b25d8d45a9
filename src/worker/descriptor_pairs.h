// The pairs of descriptors between a host and its worker. All are close-on-exec and none is 0, 1 or 2: a host
// that runs with its standard streams closed would print into our frames otherwise. A forked child of the
// host closes its copies of both ends.
#pragma once
#include "base/fork_guard.h"
#include "base/status.h"

namespace anelane::worker {

struct DescriptorPair {
  fork_guard::Fd ours;
  fork_guard::Fd theirs;
};

// A pair of connected stream sockets; ours is non-blocking, theirs blocks. Neither end ever raises SIGPIPE
// when it is written with send_frame.
Result<DescriptorPair> make_socket_pair();
// A pipe: ours is the read end, theirs the write end; both non-blocking, so that nobody waits for a log line.
Result<DescriptorPair> make_log_pipe();
// A pipe whose read end (ours) becomes readable for good when the write end is closed.
Result<DescriptorPair> make_end_pipe();

Status set_nonblocking(int fd);

}  // namespace anelane::worker
