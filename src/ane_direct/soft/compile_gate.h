// One compile at a time on the whole machine, as the daemon does it.
#pragma once
#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/status.h"

namespace anelane::soft {

class CompileGate {
 public:
  explicit CompileGate(const std::string& cache_dir);

  // Held while the ticket lives, and by no dead process.
  class Ticket {
   public:
    Ticket() = default;
    explicit Ticket(UniqueFd lock) : lock_(std::move(lock)) {}

   private:
    UniqueFd lock_;
  };
  // Waits at most `wait_ms`; then RESOURCES_EXHAUSTED. Where the lock file cannot be used the ticket is
  // given at once, with a WARN: then only this engine's own compiles are one at a time.
  Result<Ticket> enter(uint64_t wait_ms) const;

 private:
  std::string path_;
};

}  // namespace anelane::soft
