// Models whose workers keep ending before they have served anything, remembered beyond the life of the host
// (L6.4): a program that is started anew by the system as soon as it gave up would else begin each life with
// another worker that ends. Pure; crash_file.h keeps it beside the lock.
//
// An entry is watched (fewer than kCrashesMax crashes within kCrashWindowMs) → held: no first worker is
// started until kProbeEveryMs after the last crash → let go: one crash within the next kCrashWindowMs holds
// it again. A worker that serves an inference ends the entry in any state: there is a way on. So what was
// killed from outside is held for a minute at most, and no entry outlives its last crash by more than two.
//
// Times are of the wall clock, because no other outlives a restart of the machine; a time in the future is
// forgotten.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anelane {

class CrashBook {
 public:
  struct Entry {
    std::string key;
    std::string name;              // for people
    std::vector<int64_t> crashes;  // the last ones, ascending, never empty
    int64_t held_until = 0;        // 0: never
  };

  // What text() gave; anything else is an empty book.
  static CrashBook from_text(std::string_view text);
  std::string text() const;

  // At most kCrashBookModels are remembered, those that crashed last.
  void crashed(const std::string& key, const std::string& name, int64_t now_ms);
  // True: it was there.
  bool served(const std::string& key);
  // How long no first worker may be started for it; 0: now.
  uint64_t held_ms(const std::string& key, int64_t now_ms) const;
  void forget_old(int64_t now_ms);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;  // by last crash, ascending
};

// The same for one entry of a book.
uint64_t held_ms(const CrashBook::Entry& entry, int64_t now_ms);

}  // namespace anelane
