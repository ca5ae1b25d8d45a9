// Dense row-major tensors as loops: strides, repeated operands, joined axes.
#pragma once
#include <cstdint>
#include <vector>

#include "ane_direct/shape.h"
#include "ane_direct/soft/plan.h"

namespace anelane::soft {

using Strides = std::vector<int64_t>;

Strides dense_strides(const Shape& shape);
// Strides of `shape` seen as a tensor of shape `out` (aligned at the last axis, 0 where it repeats).
Strides repeat_strides(const Shape& shape, const Shape& out);
// Joins axes that every operand walks through in one stride, and drops axes of 1.
Nest make_nest(const Shape& extent, const Strides& a, const Strides& b, const Strides& out);

}  // namespace anelane::soft
