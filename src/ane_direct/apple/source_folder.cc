// A folder is written under another name and renamed, so that it is whole or not there; what is there already
// is compared byte by byte before it is believed. Two processes that write the same one race to the rename,
// and the loser finds the winner's. Times of folders tell when they were last used. Threads: any.
#include "ane_direct/apple/source_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "ane_direct/apple/staging.h"
#include "ane_direct/content_id.h"
#include "base/limits.h"

namespace anelane::apple {
namespace {

constexpr std::string_view kPartial = ".partial-";
constexpr int kAttempts = 3;

bool holds(const std::string& path, std::span<const uint8_t> expected) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const Result<MappedFile> file = MappedFile::open(path);
  return file.ok() &&
         std::equal(file->bytes().begin(), file->bytes().end(), expected.begin(), expected.end());
}

bool holds_sources(const std::string& folder, const Program& program) {
  const std::span<const uint8_t> text(reinterpret_cast<const uint8_t*>(program.mil.data()),
                                      program.mil.size());
  return holds(join_path(folder, "model.mil"), text) &&
         (program.weights.empty() || holds(join_path(folder, "weights/weight.bin"), program.weights));
}

// The process that a partial folder's name tells is gone.
bool writer_is_gone(const std::string& name) {
  const size_t at = name.find(kPartial);
  if (at == std::string::npos) return false;
  const long pid = std::strtol(name.c_str() + at + kPartial.size(), nullptr, 10);
  return pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string SourceFolder::path_of(const std::string& id) const {
  return join_path(root_, id);
}

Status SourceFolder::write(const std::string& id, const Program& program) const {
  static std::atomic<uint64_t> serials{0};
  if (!is_content_id(id)) return error(Code::kInternal, "\"" + id + "\" is no content identifier");
  ANELANE_TRY(make_folders(root_));
  const std::string folder = path_of(id);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (holds_sources(folder, program)) return {};
    const std::string partial = folder + std::string(kPartial) + std::to_string(::getpid()) + "-" +
                                std::to_string(serials.fetch_add(1, std::memory_order_relaxed));
    const Status written = write_sources(partial, program);
    if (!written.ok()) {
      (void)remove_tree(partial);
      return written;
    }
    if (::rename(partial.c_str(), folder.c_str()) == 0) return {};
    const int why = errno;
    (void)remove_tree(partial);
    if (why != ENOTEMPTY && why != EEXIST && why != ENOTDIR)
      return io_error("rename into place", folder, why);
    // Somebody's is there: the same, or a damaged one.
    if (!holds_sources(folder, program)) ANELANE_TRY(remove_tree(folder));
  }
  return error(Code::kIo, "the sources in " + folder + " change while they are written");
}

void SourceFolder::mark_used(const std::string& id) const {
  (void)::utimensat(AT_FDCWD, path_of(id).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

size_t SourceFolder::sweep(int64_t now_s) const {
  DIR* listing = ::opendir(root_.c_str());
  if (listing == nullptr) return 0;
  size_t removed = 0;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name, path = join_path(root_, name);
    const bool whole = is_content_id(name);
    struct stat st {};
    if (::lstat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    if (whole ? now_s - st.st_mtime > limits::kVaultUnusedSeconds : writer_is_gone(name))
      removed += remove_tree(path).ok() ? 1 : 0;
  }
  ::closedir(listing);
  return removed;
}

}  // namespace anelane::apple
