// The sources of programs that the client route compiles, one folder for each identifier. They stay: the
// service knows a program by path and key, and may want to read it again.
#pragma once
#include <string>

#include "ane_direct/program.h"
#include "base/status.h"

namespace anelane::apple {

class SourceFolder {
 public:
  explicit SourceFolder(std::string root) : root_(std::move(root)) {}
  std::string path_of(const std::string& id) const;
  // The sources of `id` are there, whole and with these bytes; kept as they are if they already were.
  Status write(const std::string& id, const Program& program) const;
  void mark_used(const std::string& id) const;
  // Removes what nobody used for 14 days and what dead writers left; returns how many folders.
  size_t sweep(int64_t now_s) const;

 private:
  std::string root_;
};

}  // namespace anelane::apple
