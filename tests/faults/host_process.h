// A host of a lane as a process of its own: this program again, with words that say what it is to be. What it
// leaves behind becomes a child of this process (its subreaper), so an orphan can be seen and collected.
// Values are used by one thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace faults {

class HostProcess {
 public:
  explicit HostProcess(const std::vector<std::string>& words);
  ~HostProcess();  // kills it, unless its end has been seen to
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  pid_t pid() const { return pid_; }  // 0: could not be started
  // Until its standard output has held `word`. False: it has not in time, or has ended.
  bool has_said(const char* word, uint64_t wait_ms);
  const std::string& said() const { return said_; }
  void kill();  // it is collected by whoever collects all (nobody_left)
  // Reads to the end of its output and collects it: status as of waitpid; -1: not in time.
  int wait_for_end(uint64_t wait_ms);

 private:
  bool read_more(uint64_t wait_ms);
  pid_t pid_ = 0;
  int tells_ = -1;
  bool seen_to_ = false;
  std::string said_;
};

// Collects whoever of ours has ended; true once nobody is left.
bool nobody_left(uint64_t wait_ms);

}  // namespace faults
