// The record beside the lane lock: who took it and when. Advice for people; it never decides anything.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace anelane {

struct LaneRecord {
  uint32_t pid = 0;
  uint64_t start = 0;  // of that process, in the kernel's own unit: a reused pid has another; 0: not known
  int64_t since_unix_ms = 0;
  std::string program;
};

LaneRecord record_of_this_process();
// A file of the lane's folder, whole or not at all, under one fixed second name; not flushed to the disk.
Status replace_lane_file(const std::string& path, const std::string& text);
// Only the holder of the lock writes; readers see the old record or the new one.
Status write_lane_record(const std::string& folder, const LaneRecord& record);
// nullopt: missing or not readable as a record.
std::optional<LaneRecord> read_lane_record(const std::string& folder);
// Does the process that the record names still run?
bool is_alive(const LaneRecord& record);

}  // namespace anelane
