// Do the buffers of an evaluation fit the program's ports?
#pragma once
#include <span>

#include "ane_direct/engine.h"
#include "base/status.h"

namespace anelane {

// INVALID_ARGUMENT with the port (item) and the bytes that it needs (limit). `what`: "input" or "output".
Status check_buffers(std::span<const Port> ports, std::span<const Buffer> buffers, const char* what);

}  // namespace anelane
