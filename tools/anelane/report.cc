// Errors reach the user as one line of the library's own words; a shell script decides by the exit code, and
// reads the time to wait from the line "retry_after_ms=N" that every transient error ends with. Stateless,
// any thread.
#include "report.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace anelane_tool {

anelane_error new_error() {
  anelane_error error = {};
  error.struct_size = sizeof error;
  return error;
}

void complain(std::string_view text) {
  std::fprintf(stderr, "anelane: %.*s\n", static_cast<int>(text.size()), text.data());
}

int report(const anelane_error& error) {
  std::string text(anelane_error_text(&error, nullptr, 0) + 1, '\0');
  anelane_error_text(&error, text.data(), text.size());
  text.pop_back();
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
