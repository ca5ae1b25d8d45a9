// The memory that a lane and one worker share, for tensors. Made by the host before the worker starts, of a
// fixed, sealed size, and without a name, so that nothing survives a crash and nobody can shrink it under a
// reader. The host trusts nothing in it: it copies results out and checks the copy.
//
// Layout: `bays` of equal size. Bay 0 belongs to whoever holds the stream; the others are lent to leases that
// map their ports (anelane_lease_map). Within a bay: port regions, each 64-byte aligned, in the order
// in0, in1, …, out0; an embed exchange uses the bay as [ids | floats] instead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/file.h"
#include "base/status.h"

namespace anelane::worker {

class Arena {
 public:
  // Host side. Memory is really there afterwards (no SIGBUS on a full machine): OUT_OF_MEMORY otherwise.
  static Result<std::shared_ptr<Arena>> create(size_t bytes);
  // Worker side: maps an inherited descriptor; refuses one of another size or without seals (Linux).
  static Result<std::shared_ptr<Arena>> attach(UniqueFd fd, size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  // True when [offset, offset + bytes) lies inside and offset is a multiple of `align`.
  bool holds(uint64_t offset, uint64_t bytes, uint64_t align = 1) const {
    return offset % align == 0 && offset <= size_ && bytes <= size_ - offset;
  }

 private:
  Arena() = default;
  UniqueFd fd_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace anelane::worker
