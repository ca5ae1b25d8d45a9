// A plan that occupies the soft engine.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ane_direct/engine.h"
#include "ane_direct/soft/executor.h"
#include "ane_direct/soft/plan_codec.h"
#include "ane_direct/soft/program_pool.h"

namespace anelane::soft {

// What the programs of one engine share. Lives as long as the engine or any of its programs.
struct SoftCore {
  const Kernels* kernels = nullptr;
  Numerics numerics = Numerics::kFast;
  std::unique_ptr<ThreadPool> threads;
  Workspace workspace;
  UnaryTables tables;
  std::shared_ptr<ProgramPool> pool;
  std::map<uint64_t, std::weak_ptr<const std::vector<uint8_t>>> weights;  // by hash

  // The same bytes in memory once, however many programs (rungs of one layer) have them; at a multiple of 64.
  std::shared_ptr<const std::vector<uint8_t>> share_weights(std::span<const uint8_t> bytes);
};

// IO when the bytes are no usable plan; RESOURCES_EXHAUSTED when the machine is full. May throw bad_alloc.
Result<std::unique_ptr<LoadedProgram>> load_plan(const std::shared_ptr<SoftCore>& core,
                                                 std::span<const uint8_t> bytes);

}  // namespace anelane::soft
