// What callers touch of a model without asking the lane thread: its ladder, the gates and lease books of its
// shapes. Cores live in a process-wide pool and are never freed, only used again under a new generation, so a
// stale handle can look at one safely and is found out by the generation.
//
// A core belongs to one lane at a time. Fast path words are atomics; everything else is behind `mutex`.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/limits.h"
#include "lane/lease_book.h"
#include "scheduler/slot_gate.h"

namespace anelane {

class LaneModel;

// Model handles: kind 4 | generation 36 | index 24. Lease handles: kind 4 | generation 36 | core 12 | rung 4
// | record 8.
inline constexpr uint32_t kMaxCores = 4096;

struct ModelCore {
  static constexpr uint32_t kNoRung = limits::kMaxRungs;

  std::atomic<uint64_t> generation{0};  // odd: in use
  uint32_t index = 0;
  std::array<std::atomic<uint32_t>, limits::kMaxRungs> ladder{};
  std::atomic<uint32_t> rungs{0};
  std::atomic<sched::Time> coarse_now{0};  // published by the lane thread at each step
  std::atomic<uint32_t> tick{0};           // for lease expiry
  std::atomic<bool> ticking{false};        // the lane thread is ticking: no need to wake it

  std::array<sched::SlotGate, limits::kMaxRungs> gates;
  std::array<LeaseBook, limits::kMaxRungs> leases;

  std::mutex mutex;
  std::shared_ptr<LaneModel> model;  // guarded by mutex; null when the core is free

  uint32_t rung_of(uint32_t shape) const {
    const uint32_t n = rungs.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < n; ++i)
      if (ladder[i].load(std::memory_order_relaxed) == shape) return i;
    return kNoRung;
  }
  std::shared_ptr<LaneModel> lock_model() {
    std::lock_guard lock(mutex);
    return model;
  }
};

// A core for a new model (generation made odd), or nullptr when kMaxCores models exist.
ModelCore* claim_core();
// Gives it back (generation made even). Nobody may lease through it any more: its gates are closed.
void return_core(ModelCore* core);
// By index; nullptr when it was never used. Its generation says whether it is meant.
inline ModelCore* core_at(uint32_t index) {
  extern std::array<std::atomic<ModelCore*>, kMaxCores> g_cores;
  return index < kMaxCores ? g_cores[index].load(std::memory_order_acquire) : nullptr;
}

}  // namespace anelane
