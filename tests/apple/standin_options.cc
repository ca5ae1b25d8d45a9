#include "standin_options.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace anelane {
namespace {

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' ? value : fallback;
}

template <class T>
void find(void* library, const char* name, T* into) {
  *into = reinterpret_cast<T>(::dlsym(library, name));
  if (*into != nullptr) return;
  std::fprintf(stderr, "the stand-in has no %s\n", name);
  std::abort();
}

StandinApi load() {
  void* library = ::dlopen(ANELANE_STANDIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::abort();
  }
  StandinApi api{};
  find(library, "standin_set", &api.set);
  find(library, "standin_counters", &api.counters);
  find(library, "standin_user_temp_dir", &api.user_temp_dir);
  find(library, "standin_pool_in_use", &api.pool_in_use);
  find(library, "standin_vault_file", &api.vault_file);
  return api;
}

}  // namespace

const StandinApi& standin_api() {
  static const StandinApi api = load();
  return api;
}

AppleEngineOptions options_on_standin() {
  const bool is_27 = variable("ANE_STANDIN_SYSTEM", "27") == "27";
  AppleEngineOptions options;
  options.paths = {ANELANE_OBJC_LIBRARY, ANELANE_GNUSTEP_LIBRARY, ANELANE_STANDIN_LIBRARY,
                   ANELANE_STANDIN_LIBRARY, ANELANE_STANDIN_LIBRARY};
  options.os_build = variable("ANE_STANDIN_OS_BUILD", is_27 ? "26A434" : "25D125");
  options.os_version = is_27 ? "27.0" : "26.4";
  options.user_temp_folder = standin_api().user_temp_dir();
  options.tmpdir = variable("TMPDIR", "");
  return options;
}

}  // namespace anelane
