// Waiting on descriptors up to a deadline of the now_ns clock. send_frame and receive_frame stand in
// worker_handle.h.
#pragma once
#include <cstdint>

#include "base/status.h"

namespace anelane::worker {

// For waits that something else bounds: an idle worker waits for its owner, and its control thread watches
// both.
inline constexpr uint64_t kNoDeadline = UINT64_MAX;

// What poll() takes: -1 without a deadline, 0 when it has passed, rounded up otherwise.
int poll_timeout_ms(uint64_t deadline_ns);
// Until poll reports anything (ready, hung up, broken). DEADLINE_EXCEEDED, IO.
Status wait_ready(int fd, short events, uint64_t deadline_ns);

}  // namespace anelane::worker
