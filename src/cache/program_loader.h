// Load before compile (L8.2): asks the daemon first and compiles only what it does not hold or cannot use.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ane_direct/engine.h"

namespace anelane {

enum class LoadOrigin { kCache, kCompiled };

struct LayerLoad {
  std::unique_ptr<LoadedProgram> program;
  LoadOrigin origin = LoadOrigin::kCache;
  double ms = 0;
};

struct LoaderOptions {
  uint64_t temp_space_min = 512u << 20;  // TEMP_SPACE_LOW below it, checked before each compile only
};

// One layer. A cached copy that cannot be loaded is compiled anew; a resource refusal of a cached copy is
// returned at once, without compiling.
Result<LayerLoad> load_program(Engine& engine, const Program& program, const LoaderOptions& options);

// True when the daemon holds both the first and the last layer of a rung. It is asked for both, whatever its
// first answer is (L8.3).
bool rung_is_cached(Engine& engine, const Program& first, const Program& last);

}  // namespace anelane
