// What happened, as lines that can be compared with another implementation's.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "workload.h"

namespace anelane::sim {

enum class Ev : uint8_t {
  kAdmitStart,
  kAdmitEnd,
  kEvictStart,
  kEvictEnd,
  kGrant,
  kRelease,
  kAnswer,
  kDrop,
  kFault,
  kExit,
  kReady,
  kRetired,
  kPrewarmEnd,
  kOpen,
  kAsk,  // a request or cancel arrives; not part of the comparable log
  kCancel,
};
enum class Outcome : uint8_t { kCompiled, kLoaded, kError, kRefused, kLost };

struct LogLine {
  Time t = 0;
  Ev ev = Ev::kOpen;
  uint32_t model = 0;
  uint32_t shape = 0;
  uint64_t id = 0;
  Outcome outcome = Outcome::kCompiled;
  Code code = Code::kOk;
  uint64_t retry_after_ms = 0;
  std::vector<uint32_t> loaded = {}, already_resident = {}, skipped = {};
};

std::string line_json(const LogLine& line, const std::vector<Model>& models);
// The same history gives the same number, everywhere.
uint64_t hash_lines(const std::vector<LogLine>& lines);

}  // namespace anelane::sim
