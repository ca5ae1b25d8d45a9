// The crash book of a lane (crash_book.h), in a file beside its lock: read at each load, and written after a
// crash and when a model that is in it serves again. The holder of the lock writes; anybody of the user may
// read or remove it. A file that cannot be read or written holds nothing back.
#pragma once
#include <string>

#include "base/json.h"
#include "lane/crash_book.h"

namespace anelane {

// Lane thread only.
class CrashFile {
 public:
  explicit CrashFile(const std::string& folder);

  const std::string& path() const { return path_; }
  uint64_t held_ms(const std::string& key) const;
  // How long it is held from now on; 0: not at all.
  uint64_t crashed(const std::string& key, const std::string& name) const;
  void served(const std::string& key) const;

 private:
  bool write(const CrashBook& book) const;

  const std::string path_;
};

// For anybody who looks at the lane of this folder: an array of {"model", "crashes", "retry_after_ms"}.
Json crash_loops_of(const std::string& folder);

}  // namespace anelane
