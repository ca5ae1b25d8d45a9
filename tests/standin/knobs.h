/* Reading the knobs of standin.h. Threads: all of them. */
#ifndef ANELANE_TESTS_STANDIN_KNOBS_H
#define ANELANE_TESTS_STANDIN_KNOBS_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
#include <string>
namespace standin {
std::string knob(const char* name, const std::string& otherwise = "");
}
extern "C" {
#endif

/* The value as text; false (and "" in `out`) when the knob is not set. */
bool standin_knob(const char* name, char* out, size_t room);
long standin_knob_number(const char* name, long otherwise);
/* Is `item` in the knob's list? */
bool standin_knob_lists(const char* name, const char* item);
int standin_system(void); /* 26 or 27 */

struct StandinFault {
  bool nil_error;
  char domain[96];
  long code;
  char text[512];
};
/* Counts one call of the knob (fail_…, kill_…); true when the knob wants this call to go wrong. */
bool standin_fault(const char* name, struct StandinFault* out);
/* Sleeps for stall_<what>_ms and dies for kill_<what>. */
void standin_stall(const char* what);
/* Does knob `raise` name this selector now? Counts one call. */
bool standin_raises(const char* selector);

#ifdef __cplusplus
}
#endif
#endif
