// The files of a program model by name: of a folder, or of memory (what anelane_model_load_program was
// given).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace anelane {

class ProgramFiles {
 public:
  virtual ~ProgramFiles() = default;
  // What to call a file in an error: its path.
  virtual std::string place(const std::string& name) const = 0;
  // IO when there is none, or when it is larger than `limit`.
  virtual Result<std::string> read(const std::string& name, uint64_t limit) const = 0;
};

std::unique_ptr<ProgramFiles> program_folder(const std::string& folder);

}  // namespace anelane
