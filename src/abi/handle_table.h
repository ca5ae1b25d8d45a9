// Objects behind handles: the bits alone never name memory. They are looked up here, and a handle that was
// given back, made up, or is of another kind finds nothing.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "abi/handle_bits.h"

namespace anelane::abi {

// Objects of one kind behind handles. Any thread.
template <class T, Kind kKind>
class HandleTable {
 public:
  // 0: the table is full.
  uint64_t insert(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    uint64_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (entries_.size() > kIndexMask) return 0;
      index = entries_.size();
      entries_.emplace_back();
    }
    Entry& e = entries_[index];
    e.object = std::move(object);
    return make_bits(kKind, e.generation, index);
  }
  std::shared_ptr<T> find(uint64_t bits) {
    std::lock_guard lock(mutex_);
    Entry* e = entry(bits);
    return e != nullptr ? e->object : nullptr;
  }
  // Ends the handle; the object it stood for, or nullptr when it had ended before.
  std::shared_ptr<T> remove(uint64_t bits) {
    std::lock_guard lock(mutex_);
    Entry* e = entry(bits);
    if (e == nullptr) return nullptr;
    std::shared_ptr<T> object = std::move(e->object);
    // An entry whose generation is used up is never used again.
    if (++e->generation <= kGenerationMask) free_.push_back(index_of(bits));
    return object;
  }

 private:
  struct Entry {
    std::shared_ptr<T> object;
    uint64_t generation = 1;
  };
  Entry* entry(uint64_t bits) {
    if (!is_kind(bits, kKind) || index_of(bits) >= entries_.size()) return nullptr;
    Entry& e = entries_[index_of(bits)];
    return e.object && e.generation == generation_of(bits) ? &e : nullptr;
  }
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> free_;
};

}  // namespace anelane::abi
