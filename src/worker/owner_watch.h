// The worker's side of the owner's death: a descriptor that becomes readable when the owner process is gone.
#pragma once
#include "base/file.h"
#include "base/status.h"

namespace anelane::worker {

// Linux: checks the inherited pidfd. macOS: arms a process event for the parent; `inherited` is unused.
// INVALID_ARGUMENT when there is nothing to watch, ENGINE_CRASHED when the owner is gone already.
Result<UniqueFd> open_owner_watch(int inherited);

}  // namespace anelane::worker
