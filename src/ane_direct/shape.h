// The extent of a tensor, outermost axis first. Rank 0 is a scalar.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace anelane {

using Shape = std::vector<uint64_t>;

uint64_t element_count(const Shape& shape);  // of a shape that passed check_shape
std::string shape_text(const Shape& shape);  // "[1, 64, 1, 128]"

// Rank at most 5, no empty axis, no axis above `max_axis` (limits.h).
Status check_shape(const Shape& shape, uint64_t max_axis);
// Numpy's rule: aligned at the last axis, axes of 1 stretch.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace anelane
