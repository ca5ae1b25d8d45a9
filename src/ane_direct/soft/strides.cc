// Joining axes matters for speed only: a sum of two tensors of one shape becomes a single loop.
#include "ane_direct/soft/strides.h"

namespace anelane::soft {

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<int64_t>(shape[i]);
  return strides;
}

Strides repeat_strides(const Shape& shape, const Shape& out) {
  const Strides dense = dense_strides(shape);
  Strides strides(out.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t to = out.size() - shape.size() + i;
    if (shape[i] != 1) strides[to] = dense[i];
  }
  return strides;
}

Nest make_nest(const Shape& extent, const Strides& a, const Strides& b, const Strides& out) {
  Nest nest;
  for (size_t i = 0; i < extent.size(); ++i) {
    if (extent[i] == 1) continue;
    if (nest.rank != 0) {
      const size_t last = nest.rank - 1u;
      const int64_t n = static_cast<int64_t>(extent[i]);
      if (nest.a[last] == a[i] * n && nest.b[last] == b[i] * n && nest.out[last] == out[i] * n) {
        nest.extent[last] *= extent[i];
        nest.a[last] = a[i];
        nest.b[last] = b[i];
        nest.out[last] = out[i];
        continue;
      }
    }
    nest.extent[nest.rank] = extent[i];
    nest.a[nest.rank] = a[i];
    nest.b[nest.rank] = b[i];
    nest.out[nest.rank] = out[i];
    ++nest.rank;
  }
  return nest;
}

}  // namespace anelane::soft
