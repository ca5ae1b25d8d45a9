// The leases that callers hold of one shape. Fixed records, found by index, which last as long as the book
// (a model's book: as long as the process): a stale handle meets a record of another generation and nothing
// else. Taking and giving back touch memory of this shape only, and each is one atomic exchange: what else a
// fast path does must not cost more than the gate's own.
//
// A record's state is one word: | generation 36 | busy 1 | bay + 1, 8 |. The generation is odd while the
// record is leased; `busy` while a taker, who has it already, writes the rest. Its bay of the arena (0: no
// port is mapped) is in the same word, so that a late mapping can never reach the record's next lease. A
// record whose generation is used up is not used again.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "scheduler/slot_gate.h"

namespace anelane {

class LeaseBook {
 public:
  static constexpr uint32_t kRecords = 256;
  static constexpr uint64_t kGenerationMask = (1ull << 36) - 1;

  class Record {
   public:
    std::atomic<uint32_t> epoch{0};  // of the gate, while leased
    std::atomic<uint32_t> tick{0};   // lane tick at grant or last run (L3.2)

    // -1: none is mapped, or the lease has ended.
    int32_t bay_of(uint64_t generation) const {
      const uint64_t word = state_.load(std::memory_order_acquire);
      return generation_of(word) == generation ? bay_in(word) : -1;
    }
    // False: another thread mapped first, or the lease has ended.
    bool set_bay(uint64_t generation, int32_t bay) {
      uint64_t unmapped = generation << kGenerationShift;
      return state_.compare_exchange_strong(unmapped, unmapped | static_cast<uint64_t>(bay + 1),
                                            std::memory_order_acq_rel);
    }

   private:
    friend class LeaseBook;
    std::atomic<uint64_t> state_{0};
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
      records_.store(new Records, std::memory_order_release);
  }

  Ticket take(uint32_t epoch, uint32_t tick) {
    auto& records = *records_.load(std::memory_order_relaxed);
    const uint32_t first = likely_free_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < kRecords; ++i) {
      const uint32_t index = (first + i) % kRecords;
      Record& r = records[index];
      uint64_t word = r.state_.load(std::memory_order_relaxed);
      const uint64_t generation = generation_of(word) + 1;
      if ((word & kBusy) != 0 || (generation & 1) == 0 || generation >= kGenerationMask) continue;
      if (!r.state_.compare_exchange_strong(word, word | kBusy, std::memory_order_acquire,
                                            std::memory_order_relaxed))
        continue;
      r.epoch.store(epoch, std::memory_order_relaxed);
      r.tick.store(tick, std::memory_order_relaxed);
      r.state_.store(generation << kGenerationShift, std::memory_order_release);
      if (i != 0) likely_free_.store((index + 1) % kRecords, std::memory_order_relaxed);
      return {index, generation};
    }
    return {};
  }

  // The record, if this generation holds it now.
  Record* find(uint32_t index, uint64_t generation) {
    auto* records = records_.load(std::memory_order_acquire);
    if (records == nullptr || index >= kRecords || (generation & 1) == 0) return nullptr;
    Record& r = (*records)[index];
    return generation_of(r.state_.load(std::memory_order_acquire)) == generation ? &r : nullptr;
  }

  // Ends the lease; the first caller for this generation gets true and the record's last contents.
  bool give_back(uint32_t index, uint64_t generation, uint32_t* epoch, int32_t* bay) {
    Record* r = find(index, generation);
    if (r == nullptr) return false;
    const uint32_t held_epoch = r->epoch.load(std::memory_order_relaxed);
    uint64_t word = r->state_.load(std::memory_order_relaxed);
    do {
      if (generation_of(word) != generation) return false;
    } while (!r->state_.compare_exchange_weak(word, (generation + 1) << kGenerationShift,
                                              std::memory_order_acq_rel, std::memory_order_relaxed));
    *epoch = held_epoch;
    *bay = bay_in(word);
    likely_free_.store(index, std::memory_order_relaxed);
    return true;
  }

  // Calls fn(index, generation, record) for each record that is leased.
  template <class Fn>
  void each_leased(Fn&& fn) {
    auto* records = records_.load(std::memory_order_acquire);
    if (records == nullptr) return;
    for (uint32_t i = 0; i < kRecords; ++i) {
      Record& r = (*records)[i];
      const uint64_t generation = generation_of(r.state_.load(std::memory_order_acquire));
      if ((generation & 1) != 0) fn(i, generation, r);
    }
  }

 private:
  static constexpr int kGenerationShift = 9;
  static constexpr uint64_t kBusy = 1ull << 8;
  static constexpr uint64_t kBay = 0xff;
  static uint64_t generation_of(uint64_t word) { return word >> kGenerationShift; }
  static int32_t bay_in(uint64_t word) { return static_cast<int32_t>(word & kBay) - 1; }

  // On cache lines of its own: the shapes' books are allocated one after the other.
  struct alignas(128) Records : std::array<Record, kRecords> {};
  std::atomic<Records*> records_{nullptr};             // set once
  alignas(128) std::atomic<uint32_t> likely_free_{0};  // where to look first; a guess only
};

}  // namespace anelane
