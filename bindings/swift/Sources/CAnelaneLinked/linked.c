#include "CAnelaneLinked.h"

#define CANELANE_ENTRY(name) .name = anelane_##name,
static const canelane_functions kLinked = {CANELANE_FUNCTIONS(CANELANE_ENTRY)};

const canelane_functions* canelane_linked(void) {
  return &kLinked;
}
