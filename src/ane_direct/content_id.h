// The daemon's name for a program: three SHA-256 in uppercase hexadecimal, joined by "_" (194 characters).
#pragma once
#include <string>
#include <string_view>

#include "ane_direct/program.h"

namespace anelane {

std::string content_id(const Program& program);
// 64 + 1 + 64 + 1 + 64 characters of the right kinds; what is not such a name never becomes a path.
bool is_content_id(std::string_view text);

}  // namespace anelane
