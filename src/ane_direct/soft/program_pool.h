// How many programs may live on the engine at once, counted over all processes of the machine.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace anelane::soft {

class ProgramPool : public std::enable_shared_from_this<ProgramPool> {
 public:
  // Where the file cannot be used, programs of this engine alone are counted, with a WARN.
  static std::shared_ptr<ProgramPool> open(const std::string& cache_dir, uint32_t limit);
  ~ProgramPool();

  // One place in the pool; given back by the destructor, or by the kernel when the process dies.
  class Slot {
   public:
    Slot() = default;
    ~Slot();
    Slot(Slot&& other) noexcept : pool_(std::move(other.pool_)), index_(other.index_) {}
    Slot& operator=(Slot&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(index_, other.index_);
      return *this;
    }

   private:
    friend class ProgramPool;
    Slot(std::shared_ptr<ProgramPool> pool, uint32_t index) : pool_(std::move(pool)), index_(index) {}
    std::shared_ptr<ProgramPool> pool_;
    uint32_t index_ = 0;
  };
  // RESOURCES_EXHAUSTED when every place is taken.
  Result<Slot> take();
  uint32_t limit() const;

 private:
  struct State;
  explicit ProgramPool(std::unique_ptr<State> state);
  void give(uint32_t index);
  std::unique_ptr<State> state_;
};

}  // namespace anelane::soft
