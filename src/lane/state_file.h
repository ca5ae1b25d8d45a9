// What a lane tells other processes about itself: the description (describe.h) in a file beside the lock, for
// `anelane ps`. The lane thread writes it after a change, at most once in kStateEveryMs and never while an
// event is being carried out; a lane in which nothing happens writes nothing. The file goes with the close;
// of a lane that was killed it stays until the next one writes, and its readers see from the lock's record
// that it is stale.
#pragma once
#include <string>

#include "base/status.h"
#include "lane/loop_thread.h"

namespace anelane {

class Lane;

// Lane thread only, but for the constructor.
class StateFile {
 public:
  explicit StateFile(Lane* lane) : lane_(lane) {}
  void changed();
  void end();  // nothing is written any more, and the file is taken away

 private:
  void write();

  Lane* lane_;
  LoopThread::TimerId timer_{};
  uint64_t last_ns_ = 0;
  bool ended_ = false, failed_ = false;
};

// JSON for anybody: {"held", "holder", "stale", "as_of_unix_ms", "crash_loops", "lane"}; "lane" is null where
// nothing was written, or nobody holds the lane. Needs no lane and disturbs nothing. Any thread.
Result<std::string> peek_lane(const std::string& folder);

}  // namespace anelane
