// How every command of the tool says that something went wrong, and which exit code that gives.
#pragma once
#include <anelane.h>

#include <string>
#include <string_view>

namespace anelane_tool {

// The exit codes (README, "The tool").
inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitTryLater = 75;  // EX_TEMPFAIL of sysexits.h

// An error struct that the library will fill in.
anelane_error new_error();

// "anelane: TEXT" on stderr.
void complain(std::string_view text);

// Writes the library's error on stderr; one that another process may cure is followed by a line
// "retry_after_ms=N". Returns the exit code.
int report(const anelane_error& error);

// Ends a command that wrote to stdout: output that did not arrive (a full disk) is not success.
int finish_output();

}  // namespace anelane_tool
