// Whether processes sleep: how often their threads were given a processor, as the kernel counts it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

namespace faults {

// Context switches of each thread of these processes, the calling thread left out.
std::map<pid_t, uint64_t> context_switches(const std::vector<pid_t>& processes);
// What came on top since then; threads that have come or gone count as one each.
uint64_t wakeups_since(const std::map<pid_t, uint64_t>& before, const std::vector<pid_t>& processes);

}  // namespace faults
