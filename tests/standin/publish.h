/* Publishing a class under its framework name, from a table of selectors with the framework's encodings.
 *
 * The compiled class ("Standin…") holds instance variables and -dealloc; the published one is a subclass of
 * it with the table's methods, which are C functions: only so can an encoding be exactly Apple's (B for BOOL,
 * which gcc would encode as C), and a class or selector be missing when a test wants that. */
#ifndef ANELANE_TESTS_STANDIN_PUBLISH_H
#define ANELANE_TESTS_STANDIN_PUBLISH_H
#import <Foundation/Foundation.h>
#include <objc/runtime.h>

#include "counters.h"
#include "daemon.h"
#include "errors.h"
#include "knobs.h"

enum { STANDIN_INSTANCE = 0, STANDIN_CLASS = 1, STANDIN_SINCE_27 = 2 };

struct StandinMethod {
  const char* selector;
  const char* types;
  IMP imp;
  unsigned kind;
};

/* Called from +load of the compiled class. */
void standin_publish(Class compiled, const char* name, const struct StandinMethod* methods, size_t count);

/* First statement of every method: raises when knob `raise` says so. */
void standin_enter(SEL selector);

/* For +new and -init, which return nil. */
id standin_nil(id self, SEL selector);
/* For properties of one object. */
void standin_assign(id* place, id value);

#endif
