// What the way to the worker costs: warm runs of one layer on fp16 tensors of 128 tokens × 384 numbers, in a
// worker whose engine copies its input and computes nothing, against a bare round trip over a socket pair to
// a process that makes the same copy (bare_peer.h). Mapped: the tensors lie in the memory shared with the
// worker. Plain: they are the host's own, and are copied in and out on both sides of the comparison.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bare_peer.h"
#include "bench.h"
#include "support/tiny_checkpoint.h"

namespace bench {
namespace {

constexpr uint32_t kShape = 128, kWidth = 384;

class Runner {
 public:
  explicit Runner(const std::string& folder) {
    anelane::TinyCheckpointOptions checkpoint;
    checkpoint.layers = 1;
    checkpoint.width = kWidth;
    checkpoint.heads = 12;
    checkpoint.ffn = 32;
    checkpoint.ceiling = kShape;
    if (!anelane::write_tiny_checkpoint(folder + "/tiny", checkpoint).ok()) std::abort();
    anelane_lane_options options = {};
    anelane_lane_options_init(&options, sizeof options);
    options.worker_path = ANELANE_COPYING_WORKER;
    lane_ = open_lane(folder + "/lane", options);
    const anelane_model model = load(lane_, folder + "/tiny", {kShape});
    anelane_error err = new_error();
    require(anelane_lease_acquire(model, kShape, in_ms(60'000), &lease_, &err), err);
    require(anelane_lease_acquire(model, kShape, in_ms(60'000), &mapped_, &err), err);
    std::vector<anelane_port> ports(8);
    for (anelane_port& port : ports) port.struct_size = sizeof port;
    size_t count = 0;
    require(anelane_model_ports(model, kShape, ports.data(), ports.size(), &count, &err), err);
    for (uint32_t i = 0; i < count; ++i) {
      buffers_.emplace_back(ports[i].bytes);
      std::vector<anelane_tensor>& side = ports[i].is_output != 0 ? out_ : in_;
      side.push_back({nullptr, ports[i].bytes, i, 0});
      (ports[i].is_output != 0 ? bytes_out_ : bytes_in_) += ports[i].bytes;
      anelane_tensor tensor = {};
      require(anelane_lease_map(mapped_, i, &tensor, &err), err);
      std::fill_n(static_cast<unsigned char*>(tensor.data), tensor.bytes, static_cast<unsigned char>(i + 1));
    }
    mapped_in_ = in_;
    check_that_it_copies();
    for (auto* side : {&in_, &out_})
      for (anelane_tensor& tensor : *side) tensor.data = buffers_[tensor.port].data();
  }
  ~Runner() { close(lane_); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  double plain_ns(int count) { return run_ns(count, lease_, in_, out_); }
  double mapped_ns(int count) { return run_ns(count, mapped_, mapped_in_, {}); }
  size_t bytes_in() const { return bytes_in_; }
  size_t bytes_out() const { return bytes_out_; }

 private:
  // A figure of something else would prove nothing.
  void check_that_it_copies() const {
    anelane_error err = new_error();
    require(anelane_run(mapped_, mapped_in_.data(), mapped_in_.size(), nullptr, 0, in_ms(60'000), &err), err);
    anelane_tensor x = {}, y = {};
    require(anelane_lease_map(mapped_, in_[0].port, &x, &err), err);
    require(anelane_lease_map(mapped_, out_[0].port, &y, &err), err);
    if (x.bytes != y.bytes || std::memcmp(x.data, y.data, x.bytes) != 0) {
      std::fputs("bench: the engine of the copying worker does not copy\n", stderr);
      std::exit(1);
    }
  }
  static double run_ns(int count, anelane_lease lease, const std::vector<anelane_tensor>& in,
                       const std::vector<anelane_tensor>& out) {
    anelane_error err = new_error();
    const uint64_t start = anelane_now_ns();
    for (int i = 0; i < count; ++i)
      if (anelane_run(lease, in.data(), in.size(), out.data(), out.size(), ANELANE_NO_DEADLINE, &err) !=
          ANELANE_OK)
        require(err.status, err);
    return static_cast<double>(anelane_now_ns() - start) / count;
  }

  anelane_lane lane_ = {};
  anelane_lease lease_ = {}, mapped_ = {};
  std::vector<std::vector<unsigned char>> buffers_;
  std::vector<anelane_tensor> in_, out_, mapped_in_;
  size_t bytes_in_ = 0, bytes_out_ = 0;
};

}  // namespace

void run_benchmarks(const Settings& settings) {
  const int count = 5;                        // short blocks: see lease_bench.cc
  const int pairs = settings.quick ? 1 : 15;  // where the kernel puts two processes stays so for long
  const int repetitions = settings.quick ? 3 : 201;
  std::array<std::vector<double>, 4> medians;  // of each pair of worker and peer
  size_t in = 0, out = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    Runner runner(settings.work_dir + "/run");
    in = runner.bytes_in(), out = runner.bytes_out();
    BarePeer peer(in, out);
    std::array<std::vector<double>, 4>
        times;  // in turns, so that what disturbs the machine disturbs all alike
    for (int i = 0; i < repetitions; ++i) {
      times[0].push_back(runner.mapped_ns(count));
      times[1].push_back(peer.round_trip_ns(count, false));
      times[2].push_back(runner.plain_ns(count));
      times[3].push_back(peer.round_trip_ns(count, true));
    }
    for (size_t i = 0; i < times.size(); ++i) medians[i].push_back(median(times[i]));
  }
  const double mapped = median(medians[0]), bare = median(medians[1]);
  const double plain = median(medians[2]), copied = median(medians[3]);
  const std::string bytes_in = std::to_string(in), bytes_out = std::to_string(out);
  print("run_mapped", {{"run_us", number(mapped / 1e3, 1)},
                       {"bare_round_trip_us", number(bare / 1e3, 1)},
                       {"ratio", number(mapped / bare)},
                       {"bytes_out", bytes_out}});
  print("run_plain", {{"run_us", number(plain / 1e3, 1)},
                      {"bare_round_trip_with_copies_us", number(copied / 1e3, 1)},
                      {"ratio", number(plain / copied)},
                      {"bytes_in", bytes_in},
                      {"bytes_out", bytes_out}});
}

}  // namespace bench
