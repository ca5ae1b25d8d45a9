// The framework compiles what it finds at <temp folder>/<identifier>: model.mil and weights/weight.bin, the
// very bytes that its dictionary has. The name is not ours to choose, so all processes with one program share
// one folder; and an unload by any of them deletes it. Hence one lock for each identifier, held from before
// the first byte until after the load, in a folder of its own, anelane-staging/<identifier>.lock. Nothing but
// the sources may lie in the staged folder: the system checks it file by file.
//
// The lock is a marker as well. A lock file that nobody holds was left by a process that died; whoever gets
// the lock removes the folder first and the lock file last. A lock file may be removed by its holder only,
// and who got a lock on a file that is gone from its path starts again: that makes removing safe.
//
// Files of other users and links are never followed or removed. Threads: any; flock keeps processes apart,
// and engines of one process too, for each opens the file itself.
#include "ane_direct/apple/staging.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "ane_direct/content_id.h"
#include "base/clock.h"

namespace anelane::apple {
namespace {

constexpr std::string_view kLockSuffix = ".lock";
constexpr uint64_t kLookMs = 20;

// Is this a folder of ours, and no link?
bool is_own_folder(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid();
}

Status clear_place(const std::string& folder) {
  struct stat st {};
  if (::lstat(folder.c_str(), &st) != 0)
    return errno == ENOENT ? Status() : io_error("examine", folder, errno);
  if (S_ISDIR(st.st_mode)) return remove_tree(folder);
  return ::unlink(folder.c_str()) == 0 ? Status() : io_error("remove", folder, errno);
}

bool is_still_at(const std::string& path, int fd) {
  struct stat by_path {
  }, by_fd{};
  return ::lstat(path.c_str(), &by_path) == 0 && ::fstat(fd, &by_fd) == 0 && by_path.st_ino == by_fd.st_ino &&
         by_path.st_dev == by_fd.st_dev;
}

void sleep_ms(uint64_t ms) {
  const timespec time{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1'000'000)};
  (void)::nanosleep(&time, nullptr);
}

// An exclusive lock on the file at `path`. Invalid, errno 0: not in time; ENOENT: there is no such file.
UniqueFd lock_file(const std::string& path, bool create, uint64_t wait_ms) {
  const uint64_t deadline = now_ns() + wait_ms * 1'000'000;
  for (;;) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600));
    if (!fd) return fd;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_still_at(path, fd.get())) return above_stdio(std::move(fd));
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return UniqueFd();
    } else if (now_ns() >= deadline) {
      errno = 0;
      return UniqueFd();
    } else {
      sleep_ms(kLookMs);
    }
  }
}

// Not flushed to the disk: what a crash of the machine spoils is compared before it is used, or swept.
Status write_new_file(const std::string& path, std::span<const uint8_t> bytes) {
  const FileSizeSignalHeld held;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return io_error("create", path, errno);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("write", path, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Status write_sources(const std::string& folder, const Program& program) {
  ANELANE_TRY(clear_place(folder));
  if (::mkdir(folder.c_str(), 0700) != 0) return io_error("create folder", folder, errno);
  const std::span<const uint8_t> text(reinterpret_cast<const uint8_t*>(program.mil.data()),
                                      program.mil.size());
  ANELANE_TRY(write_new_file(join_path(folder, "model.mil"), text));
  if (program.weights.empty()) return {};
  const std::string weights = join_path(folder, "weights");
  if (::mkdir(weights.c_str(), 0700) != 0) return io_error("create folder", weights, errno);
  return write_new_file(join_path(weights, "weight.bin"), program.weights);
}

StagedSources::StagedSources(StagedSources&& other) noexcept
    : folder_(std::move(other.folder_)),
      lock_path_(std::move(other.lock_path_)),
      lock_(std::move(other.lock_)) {}

StagedSources& StagedSources::operator=(StagedSources&& other) noexcept {
  if (this == &other) return *this;
  remove();
  folder_ = std::move(other.folder_);
  lock_path_ = std::move(other.lock_path_);
  lock_ = std::move(other.lock_);
  return *this;
}

void StagedSources::remove() {
  if (!lock_.held()) return;
  // What cannot be removed keeps its lock file, so that a sweep finds it.
  if (clear_place(folder_).ok()) ::unlink(lock_path_.c_str());
  lock_ = StagingLock();
}

StagingArea::StagingArea(std::string temp_folder)
    : temp_folder_(std::move(temp_folder)), locks_(join_path(temp_folder_, "anelane-staging")) {}

std::string StagingArea::lock_path(std::string_view id) const {
  return join_path(locks_, std::string(id) + std::string(kLockSuffix));
}

Result<StagedSources> StagingArea::stage(const std::string& id, const std::string& folder,
                                         const Program& program, uint64_t wait_ms) const {
  if (!is_content_id(id)) return error(Code::kInternal, "\"" + id + "\" is no content identifier");
  if (::mkdir(locks_.c_str(), 0700) != 0 && errno != EEXIST) return io_error("create folder", locks_, errno);
  if (!is_own_folder(locks_)) return error(Code::kIo, locks_ + " is not a folder of this user: remove it");
  StagedSources staged;
  staged.folder_ = folder;
  staged.lock_path_ = lock_path(id);
  staged.lock_.file_ = lock_file(staged.lock_path_, true, wait_ms);
  if (!staged.lock_.held()) {
    if (errno != 0) return io_error("lock", staged.lock_path_, errno);
    return error(Code::kDeadlineExceeded, "another process has been compiling this program for " +
                                              std::to_string(wait_ms / 1000) + " s");
  }
  ANELANE_TRY(write_sources(folder, program));
  return staged;
}

StagingLock StagingArea::lock_if_staged(const std::string& id, uint64_t wait_ms) const {
  StagingLock lock;
  if (is_content_id(id)) lock.file_ = lock_file(lock_path(id), false, wait_ms);
  return lock;
}

void StagingArea::remove_unlocked(const std::string& id) const {
  if (!is_content_id(id)) return;
  const UniqueFd lock = lock_file(lock_path(id), false, 0);
  if (!lock && errno != ENOENT) return;
  const std::string folder = join_path(temp_folder_, id);
  if (is_own_folder(folder)) (void)remove_tree(folder);
}

size_t StagingArea::sweep() const {
  if (!is_own_folder(locks_)) return 0;
  DIR* listing = ::opendir(locks_.c_str());
  if (listing == nullptr) return 0;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing)) names.emplace_back(entry->d_name);
  ::closedir(listing);
  size_t removed = 0;
  for (const std::string& name : names) {
    if (!name.ends_with(kLockSuffix)) continue;
    const std::string id = name.substr(0, name.size() - kLockSuffix.size());
    if (!is_content_id(id)) continue;
    const UniqueFd lock = lock_file(lock_path(id), false, 0);
    if (!lock) continue;  // its process lives
    const std::string folder = join_path(temp_folder_, id);
    if (is_own_folder(folder)) {
      if (!remove_tree(folder).ok()) continue;
      ++removed;
    }
    ::unlink(lock_path(id).c_str());
  }
  return removed;
}

}  // namespace anelane::apple
