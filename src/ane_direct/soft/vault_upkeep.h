// What the daemon does to its vaults by itself: it forgets old systems, what nobody uses, and what does not
// fit. All of it is best effort: a folder that cannot be read or removed is left alone.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace anelane::soft {

inline constexpr std::string_view kVaultName = "InMemoryModelCache";
inline constexpr std::string_view kPlanName = "model.plan";
inline constexpr std::string_view kStagingPrefix = ".staging-";

// Removes the vaults of every system build but this one.
void drop_other_builds(const std::string& cache_dir, const std::string& os_build);
// Removes what writers that died left in one signer's vault.
void sweep_unfinished(const std::string& vault);
// At most once a day, by a mark in the cache folder: sweeps every vault and removes entries that nobody used
// for 14 days. `now_s` is seconds since 1970; a mark in the future counts as none.
void daily_upkeep(const std::string& cache_dir, int64_t now_s);
// Removes entries, least recently used first and never `keep`, until those of all vaults have at most
// `ceiling` bytes together. False when they still have more.
bool make_room(const std::string& cache_dir, uint64_t ceiling, const std::string& keep);

}  // namespace anelane::soft
