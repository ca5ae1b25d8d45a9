// An entry is a folder with one file, staged under ".staging-…" in the vault itself, flushed, then renamed to
// its identifier: half an entry has no identifier and is never looked at. Where the entry exists already
// (another writer was faster, or what is there is damaged) the file alone is renamed over the old one, which
// is atomic too. Writers of the same identifier write the same bytes, so the order does not matter.
//
// A writer holds a lock (flock) on its staging folder; the kernel drops it when the writer dies. Sweeping
// takes the same lock without waiting, so live staging folders are never swept and dead ones always are. A
// writer checks after locking that its folder still is the one it made.
//
// Safe for any number of processes and threads; no state but the path.
#include "ane_direct/soft/program_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "ane_direct/content_id.h"
#include "ane_direct/soft/vault_upkeep.h"
#include "base/clock.h"
#include "base/limits.h"

namespace anelane::soft {
namespace {

constexpr int kAttempts = 64;

Status check_component(const std::string& name, const char* what) {
  const bool plain = !name.empty() && name.size() <= 200 && name != "." && name != ".." && name[0] != '.' &&
                     name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (plain) return {};
  return error(Code::kInvalidArgument, std::string(what) + " \"" + name.substr(0, 64) +
                                           "\" cannot name a folder: no /, no leading dot, 1 to 200 bytes");
}

// A staging folder of our own, locked; removed unless it was renamed away.
class Staging {
 public:
  static Result<Staging> make(const std::string& vault) {
    static std::atomic<uint64_t> serial{0};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::string path =
          join_path(vault, std::string(kStagingPrefix) + std::to_string(::getpid()) + "-" +
                               std::to_string(now_ns()) + "-" + std::to_string(serial.fetch_add(1)));
      if (::mkdir(path.c_str(), 0700) != 0) {
        if (errno == EEXIST) continue;
        return io_error("create folder", path, errno);
      }
      UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!lock) {
        if (errno == ENOENT) continue;  // swept before it was locked
        const Status status = io_error("open", path, errno);
        ::rmdir(path.c_str());
        return status;
      }
      struct stat mine {
      }, there{};
      if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(lock.get(), &mine) != 0 ||
          ::stat(path.c_str(), &there) != 0 || mine.st_ino != there.st_ino)
        continue;
      return Staging(path, std::move(lock));
    }
    return error(Code::kIo, "cannot create a staging folder in " + vault + ": it is swept again and again");
  }
  Staging(Staging&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (!path_.empty()) (void)remove_tree(path_);
  }
  const std::string& path() const { return path_; }
  int fd() const { return lock_.get(); }
  void renamed() { path_.clear(); }

 private:
  Staging(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

Status write_flushed(const std::string& path, std::span<const uint8_t> bytes) {
  const FileSizeSignalHeld held;  // in thread mode this is the host's process
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return io_error("create", path, errno);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", path, errno);
    done += static_cast<size_t>(n);
  }
  if (::fsync(fd.get()) != 0) return io_error("flush", path, errno);
  return {};
}

void flush_folder(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

}  // namespace

Result<ProgramStore> ProgramStore::open(StoreOptions options) {
  ANELANE_TRY(check_component(options.os_build, "OS build"));
  ANELANE_TRY(check_component(options.signer, "signing identifier"));
  const std::string build = join_path(options.cache_dir, options.os_build);
  const bool first = !is_folder(build);
  std::string folder = join_path(join_path(build, kVaultName), options.signer);
  ANELANE_TRY(make_folders(folder, 0700));
  ProgramStore store(std::move(options), std::move(folder));
  if (first) drop_other_builds(store.options_.cache_dir, store.options_.os_build);
  sweep_unfinished(store.folder_);
  daily_upkeep(store.options_.cache_dir, store.now_s());
  return store;
}

int64_t ProgramStore::now_s() const {
  return options_.clock_s ? options_.clock_s() : unix_ms() / 1000;
}

std::string ProgramStore::entry_file(const std::string& id) const {
  return join_path(join_path(folder_, id), kPlanName);
}

Status ProgramStore::store(const std::string& id, std::span<const uint8_t> plan) const {
  if (!is_content_id(id))
    return error(Code::kInvalidArgument, "\"" + id.substr(0, 64) + "\" is not a content identifier");
  const uint64_t ceiling = options_.ceiling_bytes;
  if (ceiling != 0 && plan.size() > ceiling)
    return error(Code::kResourcesExhausted, "a program of " + std::to_string(plan.size()) +
                                                " bytes is more than the whole cache may have")
        .with_limit(ceiling);
  // The folder may have gone with a cache that was cleared, or with another system's start.
  if (!is_folder(folder_)) ANELANE_TRY(make_folders(folder_, 0700));
  ANELANE_TRY(put(id, plan));
  if (ceiling != 0) (void)make_room(options_.cache_dir, ceiling, join_path(folder_, id));
  return {};
}

Status ProgramStore::put(const std::string& id, std::span<const uint8_t> plan) const {
  ANELANE_ASSIGN(Staging staging, Staging::make(folder_));
  const std::string staged = join_path(staging.path(), kPlanName);
  ANELANE_TRY(write_flushed(staged, plan));
  if (options_.clock_s) {
    const timespec now{static_cast<time_t>(now_s()), 0};
    const timespec times[2] = {now, now};
    ::utimensat(AT_FDCWD, staged.c_str(), times, 0);
  }
  ::fsync(staging.fd());
  const std::string entry = join_path(folder_, id);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::rename(staging.path().c_str(), entry.c_str()) == 0) {
      staging.renamed();
      flush_folder(folder_);
      return {};
    }
    if (errno == ENOTDIR && ::unlink(entry.c_str()) == 0) continue;  // a file where the entry belongs
    if (errno != ENOTEMPTY && errno != EEXIST) return io_error("rename into place", entry, errno);
    if (::rename(staged.c_str(), entry_file(id).c_str()) == 0) {
      flush_folder(entry);
      return {};
    }
    if (errno == EISDIR)
      ANELANE_TRY(remove_tree(entry_file(id)));
    else if (errno != ENOENT)
      return io_error("rename into place", entry_file(id), errno);
    // The entry went away between the two calls: once more.
  }
  return error(Code::kIo, "cannot put " + entry + " into place: it is removed again and again");
}

Result<std::string> ProgramStore::fetch(const std::string& id) const {
  if (!is_content_id(id))
    return error(Code::kInvalidArgument, "\"" + id.substr(0, 64) + "\" is not a content identifier");
  const std::string path = entry_file(id);
  Result<std::string> bytes = read_file(path, limits::kMaxPlanFile);
  if (!bytes.ok()) return bytes;
  const timespec now{static_cast<time_t>(now_s()), 0};
  const timespec times[2] = {now, now};
  ::utimensat(AT_FDCWD, path.c_str(), options_.clock_s ? times : nullptr, 0);
  return bytes;
}

}  // namespace anelane::soft
