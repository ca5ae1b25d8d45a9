// The engine of the machine: Apple's private AppleNeuralEngine.framework, opened at run time.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ane_direct/apple/framework.h"
#include "ane_direct/engine.h"

namespace anelane {

struct AppleEngineOptions {
  std::string route;        // "" or "auto": in-memory, else client; "in-memory"; "client"
  std::string mil_dialect;  // "": the newest that the system takes; "ios18", "ios16"
  std::string cache_dir;    // the client route keeps sources below it; absolute

  // What the system says (default_apple_options).
  apple::FrameworkPaths paths;   // empty: this system has no such framework
  std::string os_build;          // "26A434"
  std::string os_version;        // "27.0"
  std::string user_temp_folder;  // of the user, whatever TMPDIR says
  std::string tmpdir;            // the variable's value; "": it is not set
  // The clock of the pause after a failed compile; empty: the real one.
  std::function<uint64_t()> now_ms;
  std::function<void(uint64_t)> sleep_ms;
};

// Those of this system; nothing is opened.
AppleEngineOptions default_apple_options();

// ENGINE_UNAVAILABLE when this system has no such framework, or one that is not known, or does not let us in.
// INVALID_ARGUMENT for an option that has no such value.
Result<std::unique_ptr<Engine>> make_apple_engine(const AppleEngineOptions& options);

}  // namespace anelane
