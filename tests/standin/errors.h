/* NSErrors as both generations of the system word them. */
#ifndef ANELANE_TESTS_STANDIN_ERRORS_H
#define ANELANE_TESTS_STANDIN_ERRORS_H
#import <Foundation/Foundation.h>

#include "daemon.h"
#include "knobs.h"

/* Sets *error (when there is one) to an autoreleased NSError; always returns false. `path` of the folder, or
 * nil. */
bool standin_fail(enum StandinOutcome outcome, SEL method, NSString* path, NSError** error);
/* Knob `fail_…`: true when the call is to fail, with *error as the knob says. */
bool standin_planned_failure(const char* knob, NSError** error);

#endif
