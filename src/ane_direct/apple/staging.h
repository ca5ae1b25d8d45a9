// The sources of a program in the user's temp folder, for as long as one compile needs them, and the sweep of
// what processes that were killed in the middle have left there.
#pragma once
#include <string>
#include <string_view>

#include "ane_direct/program.h"
#include "base/file.h"
#include "base/status.h"

namespace anelane::apple {

// Writes model.mil and weights/weight.bin into `folder`, which must not exist or is replaced. Real files, no
// links, nothing else beside them.
Status write_sources(const std::string& folder, const Program& program);

// The lock of one staged folder: a file beside it, never in it.
class StagingLock {
 public:
  StagingLock() = default;
  StagingLock(StagingLock&&) noexcept = default;
  StagingLock& operator=(StagingLock&&) noexcept = default;
  ~StagingLock() = default;
  bool held() const { return file_.valid(); }

 private:
  friend class StagingArea;
  UniqueFd file_;
};

// A staged folder and its lock. Removes the folder, then the lock, when it ends.
class StagedSources {
 public:
  StagedSources() = default;
  StagedSources(StagedSources&& other) noexcept;
  StagedSources& operator=(StagedSources&& other) noexcept;
  ~StagedSources() { remove(); }
  bool staged() const { return lock_.held(); }
  void remove();

 private:
  friend class StagingArea;
  std::string folder_, lock_path_;
  StagingLock lock_;
};

class StagingArea {
 public:
  explicit StagingArea(std::string temp_folder);
  const std::string& temp_folder() const { return temp_folder_; }
  // `folder` is the framework's own choice and must lie directly in the temp folder.
  Result<StagedSources> stage(const std::string& id, const std::string& folder, const Program& program,
                              uint64_t wait_ms) const;
  // Keeps others from staging `id` while the framework removes its folder. Creates nothing: when nobody
  // stages it, or its stager does not end within the time, the lock is not held, and that is no error.
  StagingLock lock_if_staged(const std::string& id, uint64_t wait_ms) const;
  // Removes the folder of `id` unless somebody stages it.
  void remove_unlocked(const std::string& id) const;
  // Removes what dead processes staged; returns how many folders. Creates nothing.
  size_t sweep() const;

 private:
  std::string lock_path(std::string_view id) const;
  std::string temp_folder_, locks_;
};

}  // namespace anelane::apple
