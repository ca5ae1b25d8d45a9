// A message of any length in a place of fixed size.
#pragma once
#include <string>
#include <string_view>

namespace anelane {

// `message`, or where it is longer than `most` bytes, its beginning and its end with " … " between them: what
// happened stands first, what to do often last, and what can be of any length is the names in between. No
// UTF-8 sequence is cut.
std::string fit_message(std::string_view message, size_t most);

}  // namespace anelane
