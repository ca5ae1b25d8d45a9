// Keeps the library's code in the process for good: its threads and fork handlers must not lose it at
// dlclose.
#pragma once

namespace anelane {

#ifdef __APPLE__
void stay_loaded();
#else
inline void stay_loaded() {}  // the linker has marked the library (-z nodelete)
#endif

}  // namespace anelane
