// Read from the environment at each call: it may change. No state.
#include "base/cache_folder.h"

#include <cstdlib>

#include "base/file.h"

namespace anelane {

Result<std::string> user_cache_folder() {
#ifdef __APPLE__
  ANELANE_ASSIGN(const std::string home, home_folder());
  return join_path(home, "Library/Caches/anelane");
#else
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return join_path(cache, "anelane");
  ANELANE_ASSIGN(const std::string home, home_folder());
  return join_path(home, ".cache/anelane");
#endif
}

}  // namespace anelane
