// A host program in the small: a lane of its own with a worker that can be told to go wrong, and a model.
// Uses the public header only. Values; one thread each unless said.
#pragma once
#include <anelane.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

namespace faults {

inline anelane_error new_error() {
  anelane_error err = {};
  err.struct_size = sizeof err;
  return err;
}
uint64_t in_ms(uint64_t ms);
uint64_t ms_since(uint64_t start_ns);
std::string text_of(const anelane_error& err);

// A folder for one lane, and the worker program in it: a script, so that each lane has a fault of its own.
class LaneFolder {
 public:
  enum class Happens { kWhenArmed, kAlways };
  // `fault` is POINT:FAULT, or "" for none; it happens once for each arm(), or each time.
  LaneFolder(const std::string& folder, const std::string& fault, Happens happens = Happens::kWhenArmed);
  void arm() const;
  void disarm() const;
  bool armed() const;  // and has not happened yet
  const std::string& path() const { return folder_; }
  const std::string& worker() const { return worker_; }
  // What went over the streams of all workers so far, a line each (src/worker/fault_points.h).
  std::vector<std::string> record() const;

 private:
  std::string folder_, worker_, token_;
};

// An asynchronous call whose callbacks are counted.
struct Started {
  anelane_op op = {};
  bool begun = false;
  std::atomic<int> told{0};
  std::atomic<anelane_status> status{ANELANE_PENDING};
};
void count_end(void* started, anelane_op op, anelane_status status);

anelane_lane_stats stats_of(anelane_lane lane);
// The process that serves the model of this name now; 0: none.
pid_t worker_of(anelane_lane lane, const std::string& model);

// How many descriptors a process has open.
size_t descriptors_of(pid_t pid);
// Stopped by a signal, all of it.
bool is_stopped(pid_t pid);

// Children of this process by pid, dead ones that nobody collected included.
std::vector<pid_t> children();
// Descriptors, threads, children and shared memory of this process, as one text to compare.
std::string inventory();

}  // namespace faults
