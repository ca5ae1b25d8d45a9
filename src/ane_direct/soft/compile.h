// The soft compiler: MIL text and weight file to a plan.
#pragma once
#include "ane_direct/program.h"
#include "ane_direct/soft/plan.h"

namespace anelane::soft {

// COMPILE_FAILED, always with the same text for the same program.
Result<Plan> compile_program(const Program& program);

}  // namespace anelane::soft
