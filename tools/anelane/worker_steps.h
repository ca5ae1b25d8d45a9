// The steps of the doctor that are done in a worker's process, as they come.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace anelane_tool {

struct DoctorStep {
  std::string name;
  std::string outcome;  // "ok", "failed", "not applicable", "not reached"
  std::string detail;
  std::string advice;  // "": none
  double ms = 0;
};

struct WorkerEnd {
  std::string engine;  // the one that ran; "": none
};

// Starts `worker --doctor OPTIONS` and hands each step to `on_step`. A worker that dies, or takes too long,
// is a failed step: the one that it was in. Bounded: each step has a time, and what is still running then is
// killed.
WorkerEnd run_worker_steps(const std::string& worker, const std::string& options,
                           const std::function<void(const DoctorStep&)>& on_step);

// Starts `worker WORD` and returns what it prints, at most a few lines; *fault says why there is nothing.
std::string ask_worker(const std::string& worker, const std::string& word, std::string* fault);

}  // namespace anelane_tool
