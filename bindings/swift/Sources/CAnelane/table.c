/* The library's functions, looked up by name at run time. Every one of them has to be there: a library
 * without is of another version, and better refused at once than in the middle of something. Threads: any. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CAnelane.h"

#define CANELANE_NAME(name) "anelane_" #name,
static const char* const kNames[] = {CANELANE_FUNCTIONS(CANELANE_NAME) NULL};
enum { kCount = sizeof kNames / sizeof kNames[0] - 1 };
_Static_assert(sizeof(canelane_functions) == kCount * sizeof(void*), "the table is function pointers only");

const char* canelane_function_name(size_t index) {
  return index < kCount ? kNames[index] : NULL;
}

const canelane_functions* canelane_open(const char* path, char* why, size_t cap) {
  void* library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
  if (path != NULL && library == NULL) {
    const char* said = dlerror();
    snprintf(why, cap, "cannot load the library: %s", said != NULL ? said : path);
    return NULL;
  }
  void** table = malloc(kCount * sizeof(void*));
  const char* missing = NULL;
  for (size_t i = 0; table != NULL && i < kCount && missing == NULL; i++)
    if ((table[i] = dlsym(library, kNames[i])) == NULL) missing = kNames[i];
  if (table != NULL && missing == NULL) return (const canelane_functions*)table;
  snprintf(why, cap, "%s has no %s: it is another libanelane than this package needs",
           path != NULL ? path : "the process", missing != NULL ? missing : "memory for the table");
  free(table);
  if (path != NULL) dlclose(library);
  return NULL;
}
