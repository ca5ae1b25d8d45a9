// The daemon's vault on disk: compiled plans by content identifier.
//   <cache_dir>/<os build>/InMemoryModelCache/<signing identifier>/<identifier>/model.plan
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace anelane::soft {

struct StoreOptions {
  std::string cache_dir;
  std::string os_build;
  std::string signer;
  uint64_t ceiling_bytes = 0;        // of all entries together; 0 = as much as there is room
  std::function<int64_t()> clock_s;  // seconds since 1970; empty = the system's
};

class ProgramStore {
 public:
  // Creates the folders (0700) and does what the daemon does (vault_upkeep.h): a build that has no vault yet
  // drops those of other builds; once a day, entries that nobody used for 14 days go. IO when the folders
  // cannot be made; INVALID_ARGUMENT when a part is not a plain folder name.
  static Result<ProgramStore> open(StoreOptions options);

  // Readers see the whole entry or none, whatever happens to us half-way. Replaces a damaged entry. Others go
  // for it, least recently used first, where there is a ceiling; RESOURCES_EXHAUSTED when it alone is above
  // that.
  Status store(const std::string& id, std::span<const uint8_t> plan) const;
  // The bytes of the entry, which still have to be checked; marks it as used. IO when there is none.
  Result<std::string> fetch(const std::string& id) const;
  const std::string& folder() const { return folder_; }

 private:
  ProgramStore(StoreOptions options, std::string folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}
  int64_t now_s() const;
  std::string entry_file(const std::string& id) const;
  Status put(const std::string& id, std::span<const uint8_t> plan) const;

  StoreOptions options_;
  std::string folder_;
};

}  // namespace anelane::soft
