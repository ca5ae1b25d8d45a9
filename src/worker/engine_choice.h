// Which engine serves: INIT's word "soft", "apple" or "auto" made into an engine that really runs here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

// What an engine needs of this system, one by one, for the doctor. `check` says what was found; empty: it
// does not apply to this system, or to the engine that INIT asks for.
struct EngineCheck {
  const char* name;
  const char* advice;
  std::function<Result<std::string>()> check;
};
std::vector<EngineCheck> engine_checks(const InitBody& init);
// Leaves the mark that the Neural Engine passed the doctor on this system.
Status mark_doctor_passed();

}  // namespace anelane::worker
