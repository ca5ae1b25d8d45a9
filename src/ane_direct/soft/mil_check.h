// The compiler's rules on a parsed program.
#pragma once
#include <span>
#include <vector>

#include "ane_direct/mil_ast.h"
#include "ane_direct/soft/graph.h"

namespace anelane::soft {

// Every function is checked; the graph is of `main`, or of the first function when none has that name.
// `weights` (may be empty) must outlive the graph. COMPILE_FAILED: the same text for the same program.
Result<Graph> check_program(const MilProgram& program, std::span<const uint8_t> weights);

}  // namespace anelane::soft
