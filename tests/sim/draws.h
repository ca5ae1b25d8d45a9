// Where random worlds get their numbers: a seed, or the bytes of a fuzzer. One byte string is one history.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

namespace anelane::sim {

// A standard normal number from two of [0, 1). With libm: for what need not be the same everywhere.
inline double standard_normal(double u, double v) {
  return std::sqrt(-2 * std::log(std::max(u, 1e-300))) * std::cos(2 * std::numbers::pi * v);
}

class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) { state_ = next() * 0x632be59bd9b4e019ull; }
  explicit Draws(std::span<const uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

  uint64_t next() {
    if (from_bytes_) {
      uint64_t v = 0;
      for (int i = 0; i < 2; ++i) {
        v = v << 8 | (at_ < bytes_.size() ? bytes_[at_] : 0);
        ++at_;
      }
      return v * 0x9e3779b97f4a7c15ull;
    }
    uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  bool exhausted() const { return from_bytes_ && at_ >= bytes_.size(); }
  // [0, n)
  uint64_t below(uint64_t n) { return n == 0 ? 0 : (next() >> 16) % n; }
  int64_t within(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  bool chance(double p) { return unit() < p; }
  // Every order of magnitude equally often. Steps of 1/16 octave, without libm: the same everywhere.
  int64_t log_within(int64_t low, int64_t high) {
    int octaves = 0;
    while ((low << (octaves + 1)) <= high) ++octaves;
    const int64_t base = low << below(static_cast<uint64_t>(octaves) + 1);
    const int64_t value = base + base * static_cast<int64_t>(below(16)) / 16;
    return value > high ? high : value;
  }

 private:
  uint64_t state_ = 0;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool from_bytes_ = false;
};

}  // namespace anelane::sim
