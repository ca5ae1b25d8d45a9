// What a run costs besides its time: nothing of a tensor goes through the stream, and a hundred thousand runs
// leave host and worker as they were.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "host.h"
#include "small_host.h"
#include "support/tiny_checkpoint.h"

namespace faults {
namespace {

constexpr uint32_t kShape = 128;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRuns = 5'000;
#else
constexpr int kRuns = 100'000;
#endif
constexpr long kGrowthKb = 1024;  // pages that the allocator or the kernel takes its time about

class Traffic : public testing::Test {
 protected:
  void open(const std::string& worker) {
    ASSERT_TRUE(anelane::write_tiny_checkpoint(place_.model).ok());
    anelane_lane_options options = options_in(place_);
    options.worker_path = worker.c_str();
    lane_ = open_lane(options);
    const anelane_model model = load_tiny(lane_, place_);
    anelane_error err = new_error();
    require(anelane_lease_acquire(model, kShape, in_ms(kBoundMs), &plain_, &err), "lease", err);
    require(anelane_lease_acquire(model, kShape, in_ms(kBoundMs), &mapped_, &err), "lease", err);
    anelane_port ports[4];
    for (anelane_port& port : ports) port.struct_size = sizeof port;
    size_t count = 0;
    require(anelane_model_ports(model, kShape, ports, 4, &count, &err), "ports", err);
    for (uint32_t i = 0; i < count; ++i) {
      buffers_.emplace_back(ports[i].bytes);
      std::vector<anelane_tensor>& side = ports[i].is_output != 0 ? out_ : in_;
      side.push_back({nullptr, ports[i].bytes, i, 0});
      bytes_ += ports[i].bytes;
      anelane_tensor tensor = {};
      require(anelane_lease_map(mapped_, i, &tensor, &err), "map", err);
      std::memset(tensor.data, 0, tensor.bytes);
    }
    mapped_in_ = in_;
    for (auto* side : {&in_, &out_})
      for (anelane_tensor& tensor : *side) tensor.data = buffers_[tensor.port].data();
  }
  void TearDown() override { close_lane(lane_); }
  void run_plain() const { run(plain_, in_, out_); }
  void run_mapped() const { run(mapped_, mapped_in_, {}); }

  const anelane::TempFolder folder_;
  const Place place_ = {folder_.file("lane"), folder_.file("cache"), folder_.file("tiny")};
  anelane_lane lane_ = {};
  uint64_t bytes_ = 0;  // of all ports

 private:
  static void run(anelane_lease lease, const std::vector<anelane_tensor>& in,
                  const std::vector<anelane_tensor>& out) {
    anelane_error err = new_error();
    require(anelane_run(lease, in.data(), in.size(), out.data(), out.size(), in_ms(kBoundMs), &err), "run",
            err);
  }
  anelane_lease plain_ = {}, mapped_ = {};
  std::vector<std::vector<unsigned char>> buffers_;
  std::vector<anelane_tensor> in_, out_, mapped_in_;
};

TEST_F(Traffic, NoByteOfATensorGoesThroughTheStream) {
  const LaneFolder recorded(place_.lane, "");
  open(recorded.worker());
  const size_t before = recorded.record().size();
  run_plain();
  run_mapped();
  const auto lines = recorded.record();
  ASSERT_EQ(lines.size(), before + 4) << "a request and a reply for each";
  uint64_t total = 0;
  for (size_t i = before; i < lines.size(); ++i) {
    std::istringstream words(lines[i]);
    std::string way;
    uint64_t type = 0, id = 0, bytes = 0;
    words >> way >> type >> id >> bytes;
    ASSERT_GT(bytes, 0u) << lines[i];
    total += bytes;
  }
  std::printf("two runs on %llu bytes of tensors: %llu bytes through the stream\n",
              static_cast<unsigned long long>(bytes_), static_cast<unsigned long long>(total));
  EXPECT_LT(total, 4 * 128u);  // words: a shape, an offset for each port
  EXPECT_GT(bytes_, 100 * total);
}

// Resident memory and descriptors of a process.
struct Holdings {
  long resident_kb = 0;
  size_t descriptors = 0;
};
Holdings holdings_of(pid_t pid) {
  Holdings found;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) found.resident_kb = std::atol(line.c_str() + 6);
  found.descriptors = descriptors_of(pid);
  return found;
}

TEST_F(Traffic, F22_AHundredThousandRunsLeaveEverythingAsItWas) {
  const LaneFolder folder(place_.lane, "");  // as a place only
  open(ANELANE_COPYING_WORKER);
  const pid_t pids[] = {::getpid(), worker_of(lane_, "tiny")};
  for (int i = 0; i < kRuns / 20; ++i) i % 2 == 0 ? run_plain() : run_mapped();
  const std::string before = inventory();
  const Holdings held[] = {holdings_of(pids[0]), holdings_of(pids[1])};
  for (int i = 0; i < kRuns; ++i) i % 2 == 0 ? run_plain() : run_mapped();
  EXPECT_EQ(inventory(), before) << "descriptors, threads, children or shared memory";
  for (int i = 0; i < 2; ++i) {
    const Holdings now = holdings_of(pids[i]);
    std::printf("%s: resident %ld kB before %d runs, %ld kB after; %zu descriptors\n",
                i == 0 ? "host" : "worker", held[i].resident_kb, kRuns, now.resident_kb, now.descriptors);
    ASSERT_GT(held[i].resident_kb, 0);
    EXPECT_LE(now.resident_kb, held[i].resident_kb + kGrowthKb);
    EXPECT_EQ(now.descriptors, held[i].descriptors);
  }
  EXPECT_EQ(stats_of(lane_).restarts, 0u);
}

}  // namespace
}  // namespace faults
