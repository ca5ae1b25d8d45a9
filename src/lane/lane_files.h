// The files of a lane's folder.
#pragma once

namespace anelane::lane_files {

inline constexpr const char* kLock = "lane.lock";    // locked, empty; never deleted
inline constexpr const char* kRecord = "lane.json";  // who holds it, for people

}  // namespace anelane::lane_files
