// Files are read, not mapped: a file that somebody cuts short while it is mapped would end the process. Links
// are followed as long as they stay in the folder: what a manifest from elsewhere names cannot be a file of
// the user's.
#include "models/program_files.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"

namespace anelane {
namespace {

namespace fs = std::filesystem;

class Folder final : public ProgramFiles {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string place(const std::string& name) const override { return join_path(path_, name); }
  Result<std::string> read(const std::string& name, uint64_t limit) const override {
    ANELANE_TRY(check_inside(name));
    return read_file(place(name), static_cast<size_t>(limit));
  }

 private:
  // What is not there is the read's to say.
  Status check_inside(const std::string& name) const {
    std::error_code ec;
    const fs::path real = fs::canonical(place(name), ec);
    if (ec) return {};
    const fs::path root = fs::canonical(path_, ec);
    if (!ec && std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end())
      return {};
    return error(Code::kModelInvalid, place(name) + " leads to " + real.string() + ", out of the folder " +
                                          "of the program: put the file itself there");
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<ProgramFiles> program_folder(const std::string& folder) {
  return std::make_unique<Folder>(folder);
}

}  // namespace anelane
