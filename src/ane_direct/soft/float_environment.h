// The numerics assume rounding to nearest, no flushing of denormals and no traps, whatever the host has set.
#pragma once
#include <cfenv>

namespace anelane::soft {

// The default environment for this thread while it lives; then the host's again.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&old_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&old_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t old_{};
};

}  // namespace anelane::soft
