// Every order of events of a small world, as far as a depth: breadth first, each situation once, under the
// oracle. What is found first is a shortest history that breaks a rule.
#pragma once
#include <string>
#include <vector>

#include "small_world.h"

namespace anelane::sim {

struct CheckLimits {
  size_t depth = 10;           // moves
  size_t situations = 50'000;  // then it stops
};

struct CheckResult {
  std::string violation;             // empty: none
  std::vector<std::string> history;  // that led to it
  size_t situations = 0;             // different ones
  uint64_t moves = 0;                // tried
  size_t depth = 0;                  // to which everything was tried
  bool complete = false;             // there is nothing beyond
};

CheckResult check_world(const SmallSetup& setup, const CheckLimits& limits);

// The worlds that are checked: between them every kind of event and every rule of waiting.
std::vector<SmallSetup> small_setups();

}  // namespace anelane::sim
