// Which engine serves: INIT's word "soft", "apple" or "auto" made into an engine that really runs here.
#pragma once
#include <memory>

#include "ane_direct/engine.h"
#include "base/status.h"
#include "worker/protocol.h"

namespace anelane::worker {

// INVALID_ARGUMENT for another word; ENGINE_UNAVAILABLE when this system cannot have the engine asked for.
// There is no silent fallback: only "auto" may choose.
Result<std::unique_ptr<Engine>> choose_engine(const InitBody& init);

// What the software engine's compiler says of a program, without an engine. COMPILE_FAILED with line and
// column.
Status compiler_opinion(const Program& program);

}  // namespace anelane::worker
