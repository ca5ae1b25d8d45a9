// What the way to the worker costs: one warm run of the smallest model that there is (one layer of 32
// numbers, 32 tokens), against a bare round trip over a socket pair to a process that makes the same copies
// (inputs into shared memory, a word each way, outputs out of it) and computes nothing. The run's time
// includes the model's own arithmetic.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "bench.h"
#include "support/tiny_checkpoint.h"

namespace bench {
namespace {

constexpr uint32_t kShape = 32;

class Runner {
 public:
  explicit Runner(const std::string& folder) {
    anelane::TinyCheckpointOptions options;
    options.layers = 1;
    options.width = 32;
    options.heads = 1;
    options.ffn = 32;
    options.ceiling = kShape;
    if (!anelane::write_tiny_checkpoint(folder + "/tiny", options).ok()) std::abort();
    lane_ = open_lane(folder + "/lane");
    const anelane_model model = load(lane_, folder + "/tiny", {kShape});
    anelane_error err = new_error();
    require(anelane_lease_acquire(model, kShape, in_ms(60'000), &lease_, &err), err);
    std::vector<anelane_port> ports(8);
    for (anelane_port& port : ports) port.struct_size = sizeof port;
    size_t count = 0;
    require(anelane_model_ports(model, kShape, ports.data(), ports.size(), &count, &err), err);
    for (size_t i = 0; i < count; ++i) {
      buffers_.emplace_back(ports[i].bytes);
      std::vector<anelane_tensor>& side = ports[i].is_output != 0 ? out_ : in_;
      side.push_back({nullptr, ports[i].bytes, static_cast<uint32_t>(i), 0});
      (ports[i].is_output != 0 ? bytes_out_ : bytes_in_) += ports[i].bytes;
    }
    for (auto* side : {&in_, &out_})
      for (anelane_tensor& tensor : *side) tensor.data = buffers_[tensor.port].data();
  }
  ~Runner() { close(lane_); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  double run_ns(int count) {
    anelane_error err = new_error();
    const uint64_t start = anelane_now_ns();
    for (int i = 0; i < count; ++i)
      if (anelane_run(lease_, in_.data(), in_.size(), out_.data(), out_.size(), ANELANE_NO_DEADLINE, &err) !=
          ANELANE_OK)
        require(err.status, err);
    return static_cast<double>(anelane_now_ns() - start) / count;
  }
  size_t bytes_in() const { return bytes_in_; }
  size_t bytes_out() const { return bytes_out_; }

 private:
  anelane_lane lane_ = {};
  anelane_lease lease_ = {};
  std::vector<std::vector<unsigned char>> buffers_;
  std::vector<anelane_tensor> in_, out_;
  size_t bytes_in_ = 0, bytes_out_ = 0;
};

// A process behind a socket pair that copies `in` bytes out of shared memory and `out` bytes into it for each
// word.
class Peer {
 public:
  Peer(size_t in, size_t out) : in_(in), out_(out), buffer_(std::max(in, out)) {
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
  ~Peer() {
    ::close(socket_);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(shared_, in_ + out_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  double round_trip_ns(int count) {
    const uint64_t start = anelane_now_ns();
    for (int i = 0; i < count; ++i) {
      uint64_t word = static_cast<uint64_t>(i);
      std::memcpy(shared_, buffer_.data(), in_);
      if (::write(socket_, &word, sizeof word) != sizeof word ||
          ::read(socket_, &word, sizeof word) != sizeof word)
        std::abort();
      std::memcpy(buffer_.data(), shared_ + in_, out_);
    }
    return static_cast<double>(anelane_now_ns() - start) / count;
  }

 private:
  [[noreturn]] void serve(int end) {
    for (uint64_t word = 0; ::read(end, &word, sizeof word) == sizeof word;) {
      std::memcpy(buffer_.data(), shared_, in_);
      std::memcpy(shared_ + in_, buffer_.data(), out_);
      if (::write(end, &word, sizeof word) != sizeof word) break;
    }
    ::_exit(0);
  }

  const size_t in_, out_;
  std::vector<unsigned char> buffer_;
  unsigned char* shared_ = nullptr;
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace

void run_benchmarks(const Settings& settings) {
  const int count = 5;  // short blocks: see lease_bench.cc
  const int repetitions = settings.quick ? 3 : 401;
  Runner runner(settings.work_dir + "/run");
  Peer peer(runner.bytes_in(), runner.bytes_out());
  const auto [run, trip] = interleave(
      repetitions, [&] { return runner.run_ns(count); }, [&] { return peer.round_trip_ns(count); });
  print("run_round_trip", {{"run_us", number(run / 1e3, 1)},
                           {"bare_round_trip_us", number(trip / 1e3, 1)},
                           {"ratio", number(run / trip)},
                           {"bytes_in", std::to_string(runner.bytes_in())},
                           {"bytes_out", std::to_string(runner.bytes_out())}});
}

}  // namespace bench
