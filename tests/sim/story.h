// A log read as what a picture shows: spans on streams, residencies, leases, requests with what each waited
// for.
#pragma once
#include <string>
#include <vector>

#include "event_log.h"

namespace anelane::sim {

enum class SpanKind : uint8_t { kCompile, kLoad, kFailed, kEvict, kInfer, kDown };
struct Span {
  SpanKind kind = SpanKind::kCompile;
  uint32_t model = 0;
  uint32_t shape = 0;  // kDown: 0
  Time from = 0, to = 0;
  std::string note;  // for whoever points at it
};

// A shape resident, or leased by a request.
struct Stay {
  uint32_t model = 0, shape = 0;
  Time from = 0, to = 0;
  uint64_t lease = 0;  // request; 0: the residency itself
};

struct Mark {
  Time t = 0;
  uint32_t model = 0;
  std::string note;
  bool strikes = true;  // false: it waits for the next admission
};

enum class WaitKind : uint8_t { kSettle, kGate, kOwn, kDown, kRoom };
struct Wait {
  WaitKind kind = WaitKind::kSettle;
  Time from = 0, to = 0;
  std::string note;
};
enum class End : uint8_t { kLeased, kReady, kLater, kRefused, kCancelled, kOpen };
struct Asked {
  uint64_t id = 0;
  uint32_t model = 0, shape = 0;
  Time from = 0, to = 0;
  End end = End::kOpen;
  std::string note = {};
  std::vector<Wait> waits = {};
};

struct Story {
  std::vector<Span> spans;
  std::vector<Span> held;  // a gate, for an admission that was lost, until the exit is confirmed (L4.13)
  std::vector<Stay> stays;
  std::vector<Mark> faults, drops;
  std::vector<Asked> asked;
  Time end = 0;  // the last thing that happened
};

// What a fault does at this moment, in words; nothing if none is scheduled.
const Happening* fault_at(const Workload& workload, Time t, uint32_t model);
std::string fault_text(const Happening* fault);
Story read_story(const Workload& workload, const std::vector<LogLine>& log);
std::string seconds_text(Time t);

}  // namespace anelane::sim
