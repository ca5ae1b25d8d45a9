// What a run is measured against: a process behind a socket pair with memory shared with it, and nothing
// else.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace bench {

// For each word it copies `in` bytes from the beginning of the shared memory to the `out` bytes behind them,
// as far as there are any, and answers with the word.
class BarePeer {
 public:
  BarePeer(size_t in, size_t out);
  ~BarePeer();
  BarePeer(const BarePeer&) = delete;
  BarePeer& operator=(const BarePeer&) = delete;
  // ns for one, over `count`. With copies: the host's own bytes go into the shared memory before and come out
  // of it after.
  double round_trip_ns(int count, bool with_copies);

 private:
  [[noreturn]] void serve(int end);
  const size_t in_, out_;
  std::vector<unsigned char> to_, from_;
  unsigned char* shared_ = nullptr;
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace bench
