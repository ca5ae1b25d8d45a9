// What a program takes and gives, as its text declares it: no operation is looked at.
#pragma once
#include <string_view>
#include <vector>

#include "ane_direct/engine.h"

namespace anelane {

struct ProgramPorts {
  std::vector<Port> inputs, outputs;  // sorted by name, as the engine binds them
};

// Of the function `main`, or of the first one when none has that name. COMPILE_FAILED with line and column:
// the text is no MIL, or a port is none that a lane can hold.
Result<ProgramPorts> declared_ports(std::string_view mil);

}  // namespace anelane
