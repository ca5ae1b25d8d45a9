// What a lane and a model were opened with: checked copies of the C structs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"

namespace anelane {

enum class EngineChoice : int32_t { kAuto = 0, kApple = 1, kSoft = 2 };

struct LaneOptions {
  EngineChoice engine = EngineChoice::kAuto;
  bool thread_mode = false;
  bool prewarm = false;
  uint32_t executable_budget = limits::kExecutableBudget;
  uint32_t shapes_per_model = limits::kShapesPerModel;
  uint32_t shapes_total = limits::kShapesTotal;
  uint32_t max_waiting = limits::kMaxWaiting;
  uint32_t settle_ms = limits::kSettleMs;
  uint32_t handoff_ms = limits::kHandoffMs;
  uint32_t lease_max_ms = limits::kLeaseMaxMs;
  uint32_t soft_threads = 0;
  uint64_t admission_bound_ms = limits::kAdmissionBoundMs;
  uint64_t drain_ms = limits::kDrainMs;
  std::string apple_route;  // "" = by the system
  std::string mil_dialect;  // "" = by the system
  std::string lock_dir;     // "" = the per-user default
  std::string cache_dir;    // "" = program_cache_folder()
  std::string temp_dir;
  std::string worker_path;
  std::string record_path;  // "": nothing is recorded
};

// The first option in which two differ, by its name in the C struct; "" when they agree.
std::string first_difference(const LaneOptions& a, const LaneOptions& b);

using ProgressFn = void (*)(void* user, uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left);

struct ModelOptions {
  std::vector<uint32_t> rungs;
  std::string name;
  std::string numerics;
  ProgressFn progress = nullptr;
  void* progress_user = nullptr;
};

}  // namespace anelane
