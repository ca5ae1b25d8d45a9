// Frames over a socket. Sending tries at once and waits only when there is no room; receiving on a blocking
// socket without a deadline waits inside recv itself, so that an idle worker needs one system call to take up
// a request. No signal is raised when the peer is gone: MSG_NOSIGNAL here, SO_NOSIGPIPE on the socket on
// macOS.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/clock.h"
#include "worker/frame_io.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

#ifdef __APPLE__
constexpr int kNoSignal = 0;
#else
constexpr int kNoSignal = MSG_NOSIGNAL;
#endif
constexpr size_t kReadBytes = 16 * 1024;

Status stream_error(std::string_view doing, int why) {
  if (why == EPIPE || why == ECONNRESET || why == ENOTCONN)
    return error(Code::kEngineCrashed, "the other end of the worker's stream is closed");
  return error(Code::kIo, "cannot " + std::string(doing) + " the worker's stream: " + errno_text(why));
}

}  // namespace

int poll_timeout_ms(uint64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return -1;
  const uint64_t now = now_ns();
  if (now >= deadline_ns) return 0;
  const uint64_t ms = (deadline_ns - now + 999'999) / 1'000'000;
  return static_cast<int>(std::min<uint64_t>(ms, INT_MAX));
}

Status wait_ready(int fd, short events, uint64_t deadline_ns) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int n = ::poll(&entry, 1, poll_timeout_ms(deadline_ns));
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return stream_error("wait for", errno);
    if (n == 0 && now_ns() >= deadline_ns)
      return error(Code::kDeadlineExceeded, "the worker's stream was not ready in time");
  }
}

Status send_frame(int fd, const Frame& frame, uint64_t deadline_ns) {
  ANELANE_TRY(check_frame_size(frame));
  const std::string wire = encode_frame(frame);
  size_t sent = 0;
  while (sent < wire.size()) {
    const ssize_t n = ::send(fd, wire.data() + sent, wire.size() - sent, MSG_DONTWAIT | kNoSignal);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      ANELANE_TRY(wait_ready(fd, POLLOUT, deadline_ns));
    } else if (errno != EINTR) {
      return stream_error("write", errno);
    }
  }
  return {};
}

Result<Frame> receive_frame(int fd, FrameReader* reader, uint64_t deadline_ns) {
  std::array<uint8_t, kReadBytes> chunk;
  const int flags = deadline_ns == kNoDeadline ? 0 : MSG_DONTWAIT;
  for (;;) {
    ANELANE_ASSIGN(std::optional<Frame> frame, reader->next());
    if (frame) return *std::move(frame);
    const ssize_t n = ::recv(fd, chunk.data(), chunk.size(), flags);
    if (n > 0) {
      reader->feed(std::span(chunk.data(), static_cast<size_t>(n)));
    } else if (n == 0) {
      if (reader->empty()) return error(Code::kEngineCrashed, "the worker's stream has ended");
      return error(Code::kEngineCrashed, "the worker's stream has ended in the middle of a frame");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      ANELANE_TRY(wait_ready(fd, POLLIN, deadline_ns));
    } else if (errno != EINTR) {
      return stream_error("read", errno);
    }
  }
}

}  // namespace anelane::worker
