// Apple's engine over the stand-in of tests/standin: where it is, and what its "system" says.
#pragma once
#include "ane_direct/apple/apple_engine.h"
#include "standin.h"

namespace anelane {

// The stand-in's functions, by dlopen: it reads some of its knobs when it is loaded, so a test decides when.
struct StandinApi {
  decltype(&standin_set) set;
  decltype(&standin_counters) counters;
  decltype(&standin_user_temp_dir) user_temp_dir;
  decltype(&standin_pool_in_use) pool_in_use;
  decltype(&standin_vault_file) vault_file;
};
const StandinApi& standin_api();  // loads it

// As default_apple_options() on a Mac of the generation that ANE_STANDIN_SYSTEM says.
AppleEngineOptions options_on_standin();

}  // namespace anelane
