// Blocking calls, one word each way: the least that a round trip between two processes can be with sockets.
#include "bare_peer.h"

#include <anelane.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace bench {

BarePeer::BarePeer(size_t in, size_t out) : in_(in), out_(out), to_(in), from_(out) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  void* memory = ::mmap(nullptr, in + out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  shared_ = static_cast<unsigned char*>(memory);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);  // else it would never see the end
    serve(ends[1]);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

BarePeer::~BarePeer() {
  ::close(socket_);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(shared_, in_ + out_);
}

double BarePeer::round_trip_ns(int count, bool with_copies) {
  const uint64_t start = anelane_now_ns();
  for (int i = 0; i < count; ++i) {
    uint64_t word = static_cast<uint64_t>(i);
    if (with_copies) std::memcpy(shared_, to_.data(), in_);
    if (::write(socket_, &word, sizeof word) != sizeof word ||
        ::read(socket_, &word, sizeof word) != sizeof word)
      std::abort();
    if (with_copies) std::memcpy(from_.data(), shared_ + in_, out_);
  }
  return static_cast<double>(anelane_now_ns() - start) / count;
}

void BarePeer::serve(int end) {
  for (uint64_t word = 0; ::read(end, &word, sizeof word) == sizeof word;) {
    std::memcpy(shared_ + in_, shared_, std::min(in_, out_));
    if (::write(end, &word, sizeof word) != sizeof word) break;
  }
  ::_exit(0);
}

}  // namespace bench
