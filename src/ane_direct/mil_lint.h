// Advice on MIL text for people who write it: what one of the real compilers, or the engine behind it, is
// reported to refuse or to get wrong, although the text is sound and the software engine runs it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ane_direct/mil_ast.h"

namespace anelane {

struct MilWarning {
  std::string rule;  // "rsqrt-after-reduce": stable, for scripts (docs/programs.md lists them)
  SourcePlace place;
  std::string message;  // what it is, what may happen, what to write instead
};

// `text` is what `program` was parsed from. In the order of the text.
std::vector<MilWarning> lint_mil(std::string_view text, const MilProgram& program);

}  // namespace anelane
