/* The counters of standin.h. They live in the counter file where one is named, so that they outlive a kill.
 */
#ifndef ANELANE_TESTS_STANDIN_COUNTERS_H
#define ANELANE_TESTS_STANDIN_COUNTERS_H
#include "standin.h"

#ifdef __cplusplus
extern "C" {
#endif
struct StandinCounters* standin_live_counters(void);
#ifdef __cplusplus
}
#endif

#define STANDIN_COUNT(field, n) \
  ((void)__atomic_add_fetch(&standin_live_counters()->field, (n), __ATOMIC_RELAXED))
#endif
