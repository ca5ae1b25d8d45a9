// The steps of the doctor that are done in a worker's process, as they come.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "doctor_step.h"

namespace anelane_tool {

struct WorkerEnd {
  std::string engine;  // the one that ran; "": none
};

struct WorkerTimes {
  std::chrono::seconds step{120};
  std::chrono::seconds compile{600};  // a service that is busy with other programs, and its queue
  std::chrono::seconds total{1800};
};

// Starts `worker --doctor OPTIONS` and hands each step to `on_step`. A worker that dies, or takes too long,
// is a failed step: the one that it was in. So is one that says what a worker does not say, or less than all
// (worker_report.h). Bounded: each step and all together have a time, lines a number and a length, and what
// is still running then is killed.
WorkerEnd run_worker_steps(const std::string& worker, const std::string& options,
                           const std::function<void(const DoctorStep&)>& on_step,
                           const WorkerTimes& times = {});

// Starts `worker WORD` and returns what it prints, at most 64 KiB; *fault says why there is nothing.
std::string ask_worker(const std::string& worker, const std::string& word, std::string* fault);

}  // namespace anelane_tool
