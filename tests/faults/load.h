// Load on a lane from several threads, with every vector checked.
#pragma once
#include <anelane.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace faults {

inline constexpr size_t kLoadThreads = 8;
inline constexpr size_t kModels = 4;

class Load {
 public:
  // Loads the models and learns the right vectors. Ends the program if that fails: nothing is wrong yet.
  Load(anelane_lane lane, const std::string& model);
  ~Load() { stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void start();
  void stop();  // waits for every call
  // Loads the model anew in place of the one that serves as number i, which is retired. False: refused.
  bool renew(size_t i);
  std::string name(size_t i) const;

  uint64_t right() const { return right_; }
  uint64_t wrong() const { return wrong_; }
  uint64_t slowest_ms() const { return slowest_ms_; }
  std::string told() const;  // "ENGINE_CRASHED 12, RETIRED 3"

 private:
  anelane_model load(size_t i, anelane_error* err) const;
  void embed_on_and_on(uint64_t seed);
  void embed_one(size_t slot, size_t length);

  const anelane_lane lane_;
  const std::string path_;
  std::array<std::atomic<uint64_t>, kModels> models_{};
  std::array<std::atomic<uint32_t>, kModels> lives_{};
  std::map<size_t, std::vector<float>> vectors_;  // by length
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> right_{0}, wrong_{0}, slowest_ms_{0};
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> told_;
};

}  // namespace faults
