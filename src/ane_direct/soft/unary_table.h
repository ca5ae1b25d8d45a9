// A function of one fp16 value as the list of its 65536 results.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "ane_direct/soft/plan.h"
#include "base/fp16.h"

namespace anelane::soft {

using UnaryTable = std::array<Half, 65536>;

// The exact function rounded once to fp16, with the engine's rules for special values.
Half unary_value(UnaryFn fn, float alpha, float beta, Half x);

// Tables are made when a program is loaded and shared by all programs of the engine.
class UnaryTables {
 public:
  std::shared_ptr<const UnaryTable> get(UnaryFn fn, float alpha, float beta);

 private:
  std::map<std::tuple<UnaryFn, uint32_t, uint32_t>, std::weak_ptr<const UnaryTable>> made_;
};

}  // namespace anelane::soft
