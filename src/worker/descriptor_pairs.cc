// Linux makes descriptors close-on-exec at birth; macOS has no such call for sockets and pipes, so there a
// host thread that execs at the very moment may let them through (and posix_spawn with CLOEXEC_DEFAULT never
// does).
#include "worker/descriptor_pairs.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace anelane::worker {
namespace {

Status channel_error(int why) {
  Status status = error(Code::kIo, "cannot open a channel to a worker: " + errno_text(why));
  return std::move(status).with_class(is_shortage(why));
}

DescriptorPair as_pair(const int (&ends)[2]) {
  return {fork_guard::Fd(above_stdio(UniqueFd(ends[0]))), fork_guard::Fd(above_stdio(UniqueFd(ends[1])))};
}

Result<DescriptorPair> open_pipe() {
  int ends[2];
#ifdef __APPLE__
  if (::pipe(ends) != 0) return channel_error(errno);
  for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
#else
  if (::pipe2(ends, O_CLOEXEC) != 0) return channel_error(errno);
#endif
  return as_pair(ends);
}

Result<DescriptorPair> open_socket_pair() {
  int ends[2];
#ifdef __APPLE__
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return channel_error(errno);
  for (const int fd : ends) {
    const int on = 1;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  }
#else
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return channel_error(errno);
#endif
  return as_pair(ends);
}

}  // namespace

Status set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return channel_error(errno);
  return {};
}

Result<DescriptorPair> make_socket_pair() {
  ANELANE_ASSIGN(DescriptorPair pair, fork_guard::unforked(open_socket_pair));
  ANELANE_TRY(set_nonblocking(pair.ours.get()));
  return pair;
}

Result<DescriptorPair> make_log_pipe() {
  ANELANE_ASSIGN(DescriptorPair pair, fork_guard::unforked(open_pipe));
  ANELANE_TRY(set_nonblocking(pair.ours.get()));
  ANELANE_TRY(set_nonblocking(pair.theirs.get()));
  return pair;
}

Result<DescriptorPair> make_end_pipe() {
  return fork_guard::unforked(open_pipe);
}

}  // namespace anelane::worker
