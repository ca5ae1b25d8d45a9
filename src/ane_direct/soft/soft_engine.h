// The engine in software: it parses the same MIL text, checks it like the compiler does, lowers it to a
// plan, keeps plans in a daemon-like cache on disk, and computes with the engine's numerics.
#pragma once
#include <memory>
#include <string>

#include "ane_direct/engine.h"

namespace anelane {

struct SoftEngineOptions {
  std::string cache_dir;           // root of the daemon's vault; created 0700 when missing
  std::string temp_dir;            // for compiles; "" = TMPDIR or /tmp
  std::string signing_identifier;  // whose vault: "anelane-worker" for the worker
  std::string os_build;            // "" = this system's own; another value is another vault
  std::string numerics;            // "" or "fast"; "lattice" reproduces the published reduction probes
  uint32_t threads = 0;            // 0 = one for each core; parallel over outputs only
  uint32_t pool_limit = 118;       // live programs on the machine
  uint64_t cache_ceiling = 0;  // bytes of all compiled programs on disk, least recently used go; 0 = no limit
};

Result<std::unique_ptr<Engine>> make_soft_engine(const SoftEngineOptions& options);

}  // namespace anelane
