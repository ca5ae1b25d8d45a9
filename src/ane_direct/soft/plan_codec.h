// A plan as bytes: what the vault keeps in model.plan.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ane_direct/soft/plan.h"

namespace anelane::soft {

std::vector<uint8_t> encode_plan(const Plan& plan);

struct DecodedPlan {
  Plan plan;                         // weights empty: they stay where they are
  std::span<const uint8_t> weights;  // inside the given bytes, at a multiple of 64 from their start
};
// IO error for anything that is not exactly a plan of this format version, damaged bytes included.
Result<DecodedPlan> decode_plan(std::span<const uint8_t> bytes);

}  // namespace anelane::soft
