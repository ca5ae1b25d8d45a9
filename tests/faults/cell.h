// One cell of the fault matrix: one fault, at one point of the protocol, under one call.
#pragma once
#include <cstdint>
#include <string>

namespace faults {

struct Cell {
  std::string point, fault, call;
};

struct Outcome {
  std::string verdict;      // "": as it must be
  std::string said;         // the status of the call
  uint64_t call_ms = 0;     // how long the call took
  uint64_t restarts = 0;    // counted by the lane
  bool struck = false;      // the fault happened
  std::string told_before;  // the status of what met the fault, where that is another call
};

// Runs it in `folder` (not there yet) on the checkpoint in `model`. Any thread; several at a time.
Outcome run_cell(const Cell& cell, const std::string& folder, const std::string& cache,
                 const std::string& model);

}  // namespace faults
