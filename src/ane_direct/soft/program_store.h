// The daemon's vault on disk: compiled plans by content identifier.
//   <cache_dir>/<os build>/InMemoryModelCache/<signing identifier>/<identifier>/model.plan
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace anelane::soft {

class ProgramStore {
 public:
  // Creates the folders (0700), sweeps what dead writers left and entries that nobody used for 14 days.
  // IO when the folders cannot be made; INVALID_ARGUMENT when a part is not a plain folder name.
  static Result<ProgramStore> open(const std::string& cache_dir, const std::string& os_build,
                                   const std::string& signer);

  // Readers see the whole entry or none, whatever happens to us half-way. Replaces a damaged entry.
  Status store(const std::string& id, std::span<const uint8_t> plan) const;
  // The bytes of the entry, which still have to be checked; marks it as used. IO when there is none.
  Result<std::string> fetch(const std::string& id) const;
  const std::string& folder() const { return folder_; }

 private:
  explicit ProgramStore(std::string folder) : folder_(std::move(folder)) {}
  std::string entry_file(const std::string& id) const;
  std::string folder_;
};

}  // namespace anelane::soft
