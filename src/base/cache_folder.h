// The user's folder for what can be made again, which survives a restart of the machine.
#pragma once
#include <string>

#include "base/status.h"

namespace anelane {

// ~/Library/Caches/anelane on macOS; else $XDG_CACHE_HOME/anelane or ~/.cache/anelane. Nothing is created.
Result<std::string> user_cache_folder();

}  // namespace anelane
