// The simulator's command line as values that are known to be good.
#pragma once
#include <map>
#include <string>

#include "base/status.h"
#include "scheduler/types.h"

namespace anelane::sim {

extern const char* const kSimUsage;

class SimOptions {
 public:
  // What is wrong names the argument.
  static Result<SimOptions> parse(int argc, const char* const* argv);

  bool has(const std::string& name) const { return values_.contains(name); }
  const std::string& text(const std::string& name) const { return values_.at(name); }
  uint64_t number(const std::string& name, uint64_t fallback) const;
  sched::Time seconds(const std::string& name, sched::Time fallback) const;

 private:
  Status check() const;
  std::map<std::string, std::string> values_;
};

}  // namespace anelane::sim
