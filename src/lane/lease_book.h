// The leases that callers hold of one shape. Fixed records, found by index, which last as long as the book
// (a model's book: as long as the process): a stale handle meets a record of another generation and nothing
// else. Taking and giving back are a few atomic steps on memory of this shape only.
//
// A record's generation is odd while it is leased. It lives in 36 bits of the handle; a record whose
// generation would wrap is not used again.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "scheduler/slot_gate.h"

namespace anelane {

class LeaseBook {
 public:
  static constexpr uint32_t kRecords = 256;
  static constexpr uint64_t kGenerationMask = (1ull << 36) - 1;

  struct Record {
    std::atomic<uint64_t> generation{0};
    std::atomic<uint32_t> epoch{0};  // of the gate, while leased
    std::atomic<uint32_t> tick{0};   // lane tick at grant or last run (L3.2)
    // Generation and arena bay + 1 (0: no port is mapped) in one word, so that a late mapping can never reach
    // the record's next lease.
    std::atomic<uint64_t> bay{0};
    int32_t bay_of(uint64_t gen) const {
      const uint64_t word = bay.load(std::memory_order_acquire);
      return (word >> 8) == gen ? static_cast<int32_t>(word & 255) - 1 : -1;
    }
    // False: another thread mapped first, or the lease has ended.
    bool set_bay(uint64_t gen, int32_t index) {
      uint64_t none = gen << 8;
      return bay.compare_exchange_strong(none, gen << 8 | static_cast<uint64_t>(index + 1),
                                         std::memory_order_acq_rel);
    }
  };
  struct Ticket {
    uint32_t index = kRecords;  // kRecords: no record is free
    uint64_t generation = 0;
  };

  LeaseBook() = default;
  ~LeaseBook() { delete records_.load(std::memory_order_relaxed); }
  LeaseBook(const LeaseBook&) = delete;
  LeaseBook& operator=(const LeaseBook&) = delete;

  // Lane thread, before the model is published.
  void prepare() {
    if (records_.load(std::memory_order_relaxed) == nullptr)
      records_.store(new std::array<Record, kRecords>, std::memory_order_release);
  }

  Ticket take(uint32_t epoch, uint32_t tick) {
    for (uint32_t word = 0; word < free_.size(); ++word) {
      uint64_t free = free_[word].load(std::memory_order_relaxed);
      while (free != 0) {
        const uint64_t bit = free & (~free + 1);
        if (!free_[word].compare_exchange_weak(free, free & ~bit, std::memory_order_acquire,
                                               std::memory_order_relaxed))
          continue;
        const uint32_t index = word * 64 + static_cast<uint32_t>(std::countr_zero(bit));
        Record& r = (*records_.load(std::memory_order_relaxed))[index];
        r.epoch.store(epoch, std::memory_order_relaxed);
        r.tick.store(tick, std::memory_order_relaxed);
        const uint64_t generation = r.generation.load(std::memory_order_relaxed) + 1;
        r.bay.store(generation << 8, std::memory_order_relaxed);
        r.generation.store(generation, std::memory_order_release);
        return {index, generation};
      }
    }
    return {};
  }

  // The record, if this generation holds it now.
  Record* find(uint32_t index, uint64_t generation) {
    auto* records = records_.load(std::memory_order_acquire);
    if (records == nullptr || index >= kRecords || (generation & 1) == 0) return nullptr;
    Record& r = (*records)[index];
    return r.generation.load(std::memory_order_acquire) == generation ? &r : nullptr;
  }

  // Ends the lease; the first caller for this generation gets true and the record's last contents.
  bool give_back(uint32_t index, uint64_t generation, uint32_t* epoch, int32_t* bay) {
    auto* records = records_.load(std::memory_order_acquire);
    if (records == nullptr || index >= kRecords || (generation & 1) == 0) return false;
    Record& r = (*records)[index];
    const uint32_t held_epoch = r.epoch.load(std::memory_order_relaxed);
    uint64_t expected = generation;
    if (!r.generation.compare_exchange_strong(expected, generation + 1, std::memory_order_acq_rel))
      return false;
    *epoch = held_epoch;
    const uint64_t last = r.bay.exchange(0, std::memory_order_acq_rel);
    *bay = (last >> 8) == generation ? static_cast<int32_t>(last & 255) - 1 : -1;
    if (generation + 2 < kGenerationMask)
      free_[index / 64].fetch_or(1ull << (index % 64), std::memory_order_release);
    return true;
  }

  // Lane thread: calls fn(index, generation, record) for each record that is leased.
  template <class Fn>
  void each_leased(Fn&& fn) {
    auto* records = records_.load(std::memory_order_acquire);
    if (records == nullptr) return;
    for (uint32_t i = 0; i < kRecords; ++i) {
      Record& r = (*records)[i];
      const uint64_t generation = r.generation.load(std::memory_order_acquire);
      if ((generation & 1) != 0) fn(i, generation, r);
    }
  }

 private:
  alignas(128) std::array<std::atomic<uint64_t>, kRecords / 64> free_{~0ull, ~0ull, ~0ull, ~0ull};
  std::atomic<std::array<Record, kRecords>*> records_{nullptr};  // set once
};

}  // namespace anelane
