// Files are read, not mapped: a file that somebody cuts short while it is mapped would end the process.
#include "models/program_files.h"

#include "base/file.h"

namespace anelane {
namespace {

class Folder final : public ProgramFiles {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string place(const std::string& name) const override { return join_path(path_, name); }
  Result<std::string> read(const std::string& name, uint64_t limit) const override {
    return read_file(join_path(path_, name), static_cast<size_t>(limit));
  }

 private:
  std::string path_;
};

}  // namespace

std::unique_ptr<ProgramFiles> program_folder(const std::string& folder) {
  return std::make_unique<Folder>(folder);
}

}  // namespace anelane
