// A log for people: who, what, and for how long it took.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "event_log.h"

namespace anelane::sim {

class Timeline {
 public:
  explicit Timeline(const Workload& workload) : workload_(workload), models_(workload.models) {}
  // "     4.200 s  A     128 compiled in 0.900 s". Lines in the order of the log.
  std::string tell(const LogLine& line);

 private:
  struct Known {
    uint32_t model = 0, shape = 0;
    Time since = 0;
  };
  std::string name(const Known& k) const;
  std::string about_request(const LogLine& line);
  std::string about_worker(const LogLine& line);

  const Workload& workload_;
  const std::vector<Model>& models_;
  std::map<uint64_t, Known> asked_, leased_;
  std::map<std::pair<uint32_t, uint32_t>, Time> begun_;  // admissions and evictions
};

}  // namespace anelane::sim
