// The files of a lane's folder.
#pragma once

namespace anelane::lane_files {

inline constexpr const char* kLock = "lane.lock";             // locked, empty; never deleted
inline constexpr const char* kRecord = "lane.json";           // who holds it, for people
inline constexpr const char* kState = "lane.state.json";      // what it does, for `anelane ps`
inline constexpr const char* kCrashes = "lane.crashes.json";  // models whose workers keep ending

}  // namespace anelane::lane_files
