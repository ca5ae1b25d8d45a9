// The lane lock (L1): one exclusive whole-file flock for the user's Neural Engine lane. Workers inherit the
// open file description, so the lane stays busy until the owner and all its workers are gone. It is given up
// by closing descriptors only; LOCK_UN is never called. The record beside the lock is advice for people, the
// lock alone decides; nothing is ever stolen, deleted or killed to get it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "base/fork_guard.h"
#include "base/status.h"
#include "lane/lane_record.h"

namespace anelane {

struct LaneHolder {
  bool held = false;
  bool record_stale = false;  // the record is missing, unreadable or of a process that has ended (then the
                              // lane, if held, is held by workers that have not ended yet)
  uint32_t pid = 0;
  int64_t since_unix_ms = 0;
  std::string program;
};

// The folder of the lock (L1.5): `option` when not empty, else the per-user default. Creates it 0700; refuses
// a symlink, another user's folder and a network file system, naming the path.
Result<std::string> lane_folder(const std::string& option);
// The same folder for somebody who only looks: nothing is created or changed. Not there yet: its path.
Result<std::string> find_lane_folder(const std::string& option);
// Where the software engine keeps compiled programs unless an option says so: below the user's cache folder,
// because the lock's default place may be memory that a restart empties; with a lock folder of one's own (or
// no home) beside the lock, so that such a lane is one folder and nothing else.
std::string program_cache_folder(const std::string& lock_dir_option, const std::string& lane_folder);
// "NFS" for the f_type of statfs(2) on Linux; nullptr when it is not known to be a network file system.
const char* network_file_system(uint64_t f_type);
// "fuse.sshfs" and the like, as /proc/self/mountinfo names them: is it one that reaches over a network?
bool is_network_fuse(const std::string& type);

class LaneLock {
 public:
  // Takes the lock in `folder`, waiting at most until deadline_ns (0: not at all). LANE_BUSY names the
  // holder. `cancelled` (may be null) is asked now and then while waiting.
  static Result<LaneLock> acquire(const std::string& folder, uint64_t deadline_ns,
                                  const std::function<bool()>& cancelled = {});
  LaneLock() = default;
  LaneLock(LaneLock&&) noexcept = default;
  LaneLock& operator=(LaneLock&&) noexcept = default;
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  const LaneRecord& record() const { return record_; }  // of this process, as others find it
  // Closes this process's descriptor. Workers may still hold the lane.
  void close() { fd_.reset(); }

 private:
  fork_guard::Fd fd_;
  std::string path_;
  LaneRecord record_;
};

// Who holds the lane in `folder`. Needs no lane and disturbs nothing.
Result<LaneHolder> lane_holder(const std::string& folder);

}  // namespace anelane
