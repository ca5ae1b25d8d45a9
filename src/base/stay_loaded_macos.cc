// Mach-O has no mark for a library that is never unloaded, so it opens itself once more, with the flag that
// says so. Found by an address of its own: the name under which the host opened it may be any. In a program
// that has us linked in this finds the program, which stays anyway. No state; any thread.
#ifdef __APPLE__
#include <dlfcn.h>

#include "base/stay_loaded.h"

namespace anelane {

void stay_loaded() {
  static const char anchor = 0;
  Dl_info info{};
  if (::dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return;
  // The handle is not closed, which alone would hold it already.
  (void)::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace anelane
#endif
