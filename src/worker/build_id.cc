// The only file that sees the hash over the sources (cmake/BuildId.cmake), so that a change costs one
// compile.
#include "worker/build_id_value.h"
#include "worker/protocol.h"

namespace anelane::worker {

const char* build_id() {
  return ANELANE_BUILD_ID;
}

}  // namespace anelane::worker
