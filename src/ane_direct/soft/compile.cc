// Parse, check, lower; each stage has its own file and its own kind of refusal.
#include "ane_direct/soft/compile.h"

#include "ane_direct/mil_parser.h"
#include "ane_direct/soft/lower.h"
#include "ane_direct/soft/mil_check.h"

namespace anelane::soft {

Result<Plan> compile_program(const Program& program) {
  ANELANE_ASSIGN(const MilProgram tree, parse_mil(program.mil));
  ANELANE_ASSIGN(const Graph graph, check_program(tree, program.weights));
  return lower(graph);
}

}  // namespace anelane::soft
