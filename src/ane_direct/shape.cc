// Shapes are plain vectors; every shape that enters a program passes check_shape once, so that later
// products of axes cannot wrap (5 axes of at most 2^16 would: the total is bounded here too).
#include "ane_direct/shape.h"

#include <algorithm>

#include "base/limits.h"

namespace anelane {

uint64_t element_count(const Shape& shape) {
  uint64_t count = 1;
  for (const uint64_t axis : shape) count *= axis;
  return count;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

Status check_shape(const Shape& shape, uint64_t max_axis) {
  if (shape.size() > limits::kMaxRank)
    return error(Code::kCompileFailed, "tensor rank " + std::to_string(shape.size()) +
                                           " exceeds the engine's maximum of " +
                                           std::to_string(limits::kMaxRank))
        .with_limit(limits::kMaxRank);
  uint64_t total = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0)
      return error(Code::kCompileFailed,
                   "axis " + std::to_string(i) + " of " + shape_text(shape) + " is empty");
    if (shape[i] > max_axis)
      return error(Code::kCompileFailed, "axis " + std::to_string(i) + " of " + shape_text(shape) +
                                             " exceeds the engine's maximum of " + std::to_string(max_axis))
          .with_limit(max_axis);
    if (shape[i] > limits::kMaxTensorElements / total)
      return error(Code::kCompileFailed, "tensor " + shape_text(shape) + " has more than " +
                                             std::to_string(limits::kMaxTensorElements) + " elements")
          .with_limit(limits::kMaxTensorElements);
    total *= shape[i];
  }
  return {};
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const uint64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const uint64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1)
      return error(Code::kCompileFailed,
                   "shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
    out[rank - 1 - i] = std::max(da, db);
  }
  return out;
}

}  // namespace anelane
