/* The table of functions, filled by the linker. */
#ifndef CANELANE_LINKED_H
#define CANELANE_LINKED_H
#include "CAnelane.h"
const canelane_functions* canelane_linked(void);
#endif
