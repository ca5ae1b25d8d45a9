// Errors reach the user as one line of the library's own words; a shell script decides by the exit code, and
// reads the time to wait from the line "retry_after_ms=N" that every transient error ends with. A deadline
// that has passed and a shape that is still compiling are transient for a program that goes on running. For a
// script they are not: the compile stops with this process, at best after one more layer, and the next one
// begins from the start, with the same --deadline-ms, and ends the same way. Stateless, any thread.
#include "report.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace anelane_tool {

anelane_error new_error() {
  anelane_error error = {};
  error.struct_size = sizeof error;
  return error;
}

void complain(std::string_view text) {
  std::fprintf(stderr, "anelane: %.*s\n", static_cast<int>(text.size()), text.data());
}

int report(const anelane_error& told) {
  anelane_error error = told;
  const bool compiling = error.status == ANELANE_SHAPE_COMPILING;
  const bool late = compiling || error.status == ANELANE_DEADLINE_EXCEEDED;
  std::string more;
  if (compiling) {
    more = ", by " + std::to_string(error.retry_after_ms) + " or more: what compiles stops with this command";
    std::snprintf(error.message, sizeof error.message, "shape %" PRIu32 " cannot be ready in time",
                  error.shape);
  }
  if (late) {
    error.error_class = ANELANE_PERMANENT;
    error.retry_after_ms = 0;
  }
  std::string text(anelane_error_text(&error, nullptr, 0) + 1, '\0');
  anelane_error_text(&error, text.data(), text.size());
  text.pop_back();
  if (late) text += "; give a larger --deadline-ms" + more;
  complain(text);
  if (error.error_class != ANELANE_TRANSIENT) return kExitRefused;
  std::fprintf(stderr, "retry_after_ms=%" PRIu64 "\n", error.retry_after_ms);
  return kExitTryLater;
}

int finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kExitDone;
  complain(std::string("cannot write the output: ") + std::strerror(errno));
  return kExitRefused;
}

}  // namespace anelane_tool
