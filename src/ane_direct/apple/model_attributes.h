// The ports of a loaded program, as the framework's modelAttributes tell them.
#pragma once
#include <cstdint>
#include <vector>

#include "ane_direct/apple/foundation.h"
#include "ane_direct/engine.h"

namespace anelane::apple {

struct ProgramPorts {
  std::vector<Port> inputs, outputs;  // by name
  // How the engine binds: position i of a request is port `order[i]` with symbol index `symbols[i]`.
  std::vector<size_t> input_order, output_order;
  std::vector<int64_t> input_symbols, output_symbols;
  int64_t procedure = 0;
};

// INTERNAL names the member that is missing, of another kind or absurd. Stand inside guarded().
Result<ProgramPorts> read_attributes(const Foundation& foundation, Id attributes);

}  // namespace anelane::apple
