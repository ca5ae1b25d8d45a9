// MIL text to its syntax tree. The tree's texts are views of `text`.
#pragma once
#include <string_view>

#include "ane_direct/mil_ast.h"

namespace anelane {

// Both dialects, any number of functions. COMPILE_FAILED with line and column.
Result<MilProgram> parse_mil(std::string_view text);

}  // namespace anelane
