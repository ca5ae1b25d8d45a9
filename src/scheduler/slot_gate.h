// The lease fast path (L3.3): one word for each slot that callers count in and the scheduler opens and
// closes. A lease is taken and given back without a lock, a system call, an allocation or a clock read, and
// two slots never share a cache line.
//
// The word: | epoch 24 | … | hold 1 | wake 1 | open 1 | leases 32 |. Leases can be counted only while `open`
// is set and `hold` is not; closing for an eviction succeeds only at zero leases, in the same atomic step, so
// a lease on a slot that is going away is impossible. Every opening and every forced closing starts a new
// epoch; a release that names an older epoch is a no-op (L3.2).
//
// `last_use` is stamped with the coarse lane time that the scheduler's driver publishes before each step.
#pragma once
#include <atomic>
#include <cstdint>

#include "scheduler/types.h"

namespace anelane::sched {

class alignas(128) SlotGate {
 public:
  using Epoch = uint32_t;

  // ---- callers, any thread ----
  // The epoch of the lease, or 0 when the slot is closed or held: the request must queue.
  Epoch try_lease(const std::atomic<Time>& coarse_now) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & (kOpen | kHold)) != kOpen) return 0;
      // Sequentially consistent: whoever looks at leases() after asking for a wake-up by a flag of its own
      // sees this lease, or this caller sees the flag.
    } while (
        !word_.compare_exchange_weak(word, word + 1, std::memory_order_seq_cst, std::memory_order_relaxed));
    stamp(coarse_now);
    return epoch_of(word);
  }
  // True: the scheduler asked for a wake-up and this was the last lease (send kReleased).
  bool release(Epoch epoch, const std::atomic<Time>& coarse_now) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if (epoch_of(word) != epoch || (word & kLeases) == 0) return false;
    } while (
        !word_.compare_exchange_weak(word, word - 1, std::memory_order_release, std::memory_order_relaxed));
    stamp(coarse_now);
    return (word & kWake) != 0 && (word & kLeases) == 1;
  }
  // One more pin beside a lease that somebody holds (a run on it); false: that lease's shape is gone.
  bool lease_more(Epoch epoch) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if (epoch_of(word) != epoch || (word & kOpen) == 0 || (word & kLeases) == 0) return false;
    } while (
        !word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }
  bool is_open() const { return (word_.load(std::memory_order_acquire) & kOpen) != 0; }
  bool valid(Epoch epoch) const {
    const uint64_t word = word_.load(std::memory_order_acquire);
    return epoch_of(word) == epoch && (word & kOpen) != 0;
  }

  // ---- the scheduler, one thread ----
  // Resident: callers may lease. Returns the new epoch.
  Epoch open(bool hold) {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    const uint64_t epoch = next_epoch(word);
    word_.store((epoch << kEpochShift) | kOpen | (hold ? kHold : 0), std::memory_order_release);
    return static_cast<Epoch>(epoch);
  }
  // Takes the slot from callers if nobody leases it.
  bool close_if_unleased() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if ((word & kLeases) != 0) return false;
    } while (
        !word_.compare_exchange_weak(word, (word & ~(kOpen | kHold | kWake)), std::memory_order_acq_rel));
    return true;
  }
  // An eviction that was not sent is taken back: the same slot again.
  void reopen(bool hold) { word_.fetch_or(kOpen | (hold ? kHold : 0), std::memory_order_release); }
  // The process is gone: every lease is stale from here on.
  void force_close() {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    word_.store(next_epoch(word) << kEpochShift, std::memory_order_release);
  }
  // The scheduler's own grant: also while held.
  Epoch lease_held() {
    const uint64_t word = word_.fetch_add(1, std::memory_order_acquire);
    return epoch_of(word);
  }
  void set_hold(bool hold) { hold ? word_.fetch_or(kHold) : word_.fetch_and(~kHold); }
  // Ask for kReleased at the next time the count falls to zero. False: it is zero already.
  bool ask_wake() { return (word_.fetch_or(kWake) & kLeases) != 0; }
  void stop_wake() { word_.fetch_and(~kWake); }
  uint32_t leases() const { return static_cast<uint32_t>(word_.load() & kLeases); }
  Epoch epoch() const { return epoch_of(word_.load(std::memory_order_acquire)); }
  Time last_use() const { return last_use_.load(std::memory_order_relaxed); }
  void set_last_use(Time t) { last_use_.store(t, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kLeases = 0xffff'ffffu;
  static constexpr uint64_t kOpen = 1ull << 32;
  static constexpr uint64_t kWake = 1ull << 33;
  static constexpr uint64_t kHold = 1ull << 34;
  static constexpr int kEpochShift = 40;
  static Epoch epoch_of(uint64_t word) { return static_cast<Epoch>(word >> kEpochShift); }
  static uint64_t next_epoch(uint64_t word) {
    const uint64_t next = ((word >> kEpochShift) + 1) & 0xff'ffffu;
    return next == 0 ? 1 : next;  // 0 means "no lease"
  }
  void stamp(const std::atomic<Time>& coarse_now) {
    const Time now = coarse_now.load(std::memory_order_relaxed);
    if (last_use_.load(std::memory_order_relaxed) < now) last_use_.store(now, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> word_{0};
  std::atomic<Time> last_use_{0};
};

}  // namespace anelane::sched
