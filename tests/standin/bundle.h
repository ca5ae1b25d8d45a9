// A staged folder, as the compiler service looks at it.
#pragma once
#include "ane_direct/program.h"
#include "daemon.h"

namespace standin {

// Verifies the folder by the rules of the present system and reads what is to be compiled. `program->mil`
// names one weight file, under the one name that the soft compiler knows.
StandinOutcome read_bundle(const StandinBundle& bundle, anelane::Program* program);

}  // namespace standin
