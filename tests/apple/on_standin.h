// Tests of Apple's engine on the stand-in. Each body runs in a process of its own, with a system of its own:
// the stand-in reads some knobs when it is loaded, counts for a process, and may kill it.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ane_direct/apple/apple_engine.h"
#include "ane_direct/program.h"
#include "standin_options.h"
#include "support/tiny_checkpoint.h"

namespace anelane {

// A machine: system generation, vault, temp folder, pool of programs. Lives as long as its folder.
struct Machine {
  TempFolder folder;
  std::map<std::string, std::string> knobs;  // at the start of each process

  explicit Machine(const std::string& system = "27") { knobs["system"] = system; }
  std::string root() const { return folder.file("machine"); }
  std::string temp() const { return root() + "/tmp"; }
  std::string cache() const { return folder.file("cache"); }
};

// Runs `body` in a process on this machine. Its failures are this test's; at its end nothing may be left
// alive, and no rule of the framework may have been broken (autorelease pools, locks, padding, unloads).
// Returns how the process ended, as waitpid tells it; 0 when all was well.
int in_process_on(const Machine& machine, const std::function<void()>& body);

// For bodies:
AppleEngineOptions options_on(const Machine& machine, const std::string& route = "",
                              const std::string& dialect = "");
std::unique_ptr<Engine> engine_on(const Machine& machine, const std::string& route = "",
                                  const std::string& dialect = "");  // fails the test when there is none
std::unique_ptr<Engine> soft_engine(const std::string& cache_dir);
StandinCounters counters();
void set_knob(const char* knob, const std::string& value);

// y = conv(x, w) + one over [1, 32, 1, width].
Program doubling(float one = 1, uint64_t width = 64, MilDialect dialect = MilDialect::kIos18);
// Names whose declared order is not the alphabetical one: inputs a2, a10; outputs z_b = a10, z_a = a10 - a2.
Program two_ports(MilDialect dialect = MilDialect::kIos18);
// Memory for all ports of a side, and the bits that `engine` gives for pseudo-random inputs.
std::vector<std::vector<uint8_t>> run_program(Engine& engine, LoadedProgram& program, bool engine_memory,
                                              uint64_t seed = 1);
// Elements only: rows without their padding.
std::vector<uint8_t> elements_of(const Port& port, const std::vector<uint8_t>& bytes);
std::vector<std::string> files_below(const std::string& folder);

}  // namespace anelane
