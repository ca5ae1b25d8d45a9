// Linked into the tests' worker in place of src/ane_direct/apple/default_options.cc: there the engine "apple"
// is the one of the stand-in.
#include "standin_options.h"

namespace anelane {

AppleEngineOptions default_apple_options() {
  return options_on_standin();
}

}  // namespace anelane
