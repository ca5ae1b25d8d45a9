// What every engine shares: element sizes.
#include "ane_direct/engine.h"

namespace anelane {

size_t dtype_size(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
      return 2;
    case Dtype::kF32:
    case Dtype::kI32:
      return 4;
    case Dtype::kI8:
    case Dtype::kU8:
      return 1;
  }
  return 0;
}

}  // namespace anelane
