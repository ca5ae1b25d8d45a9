// The log hook: nothing is ever written to the host's own streams. A process-wide hook (or none, the
// default) gets one finished line at a time, from any library thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace anelane {

enum class LogLevel : int32_t { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };
using LogFn = void (*)(void* user, int32_t level, const char* line);

// Not before the first lane is open only: callers enforce that (src/abi). nullptr silences.
void set_log(LogFn fn, void* user, LogLevel min_level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view line);

}  // namespace anelane
