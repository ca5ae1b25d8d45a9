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

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <memory>

#include "ane_direct/content_id.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

namespace anelane::soft {
namespace {

constexpr const char* kVaultName = "InMemoryModelCache";
constexpr const char* kPlanName = "model.plan";
constexpr const char* kStagingPrefix = ".staging-";
constexpr int kAttempts = 64;

Status check_component(const std::string& name, const char* what) {
  const bool plain = !name.empty() && name.size() <= 200 && name != "." && name != ".." && name[0] != '.' &&
                     name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (plain) return {};
  return error(Code::kInvalidArgument, std::string(what) + " \"" + name.substr(0, 64) +
                                           "\" cannot name a folder: no /, no leading dot, 1 to 200 bytes");
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

// A staging folder of our own, locked; removed unless it was renamed away.
class Staging {
 public:
  static Result<Staging> make(const std::string& vault) {
    static std::atomic<uint64_t> serial{0};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::string path =
          join_path(vault, kStagingPrefix + std::to_string(::getpid()) + "-" + std::to_string(now_ns()) +
                               "-" + std::to_string(serial.fetch_add(1)));
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

void sweep_staging(const std::string& path) {
  const UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;  // its writer lives
  if (remove_tree(path).ok()) log_line(LogLevel::kInfo, "swept the unfinished entry " + path);
}

void sweep_unused(const std::string& entry) {
  struct stat st {};
  if (::stat(join_path(entry, kPlanName).c_str(), &st) != 0) return;
  const int64_t age = unix_ms() / 1000 - static_cast<int64_t>(st.st_mtime);
  if (age <= limits::kVaultUnusedSeconds) return;
  if (remove_tree(entry).ok())
    log_line(LogLevel::kInfo, "removed the entry " + entry + ": not used for 14 days");
}

void sweep(const std::string& cache_dir) {
  for (const std::string& build : list_folder(cache_dir)) {
    const std::string vaults = join_path(join_path(cache_dir, build), kVaultName);
    for (const std::string& signer : list_folder(vaults)) {
      const std::string vault = join_path(vaults, signer);
      for (const std::string& name : list_folder(vault)) {
        if (name.starts_with(kStagingPrefix)) sweep_staging(join_path(vault, name));
        if (is_content_id(name)) sweep_unused(join_path(vault, name));
      }
    }
  }
}

Status write_flushed(const std::string& path, std::span<const uint8_t> bytes) {
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

Result<ProgramStore> ProgramStore::open(const std::string& cache_dir, const std::string& os_build,
                                        const std::string& signer) {
  ANELANE_TRY(check_component(os_build, "OS build"));
  ANELANE_TRY(check_component(signer, "signing identifier"));
  const std::string folder = join_path(join_path(join_path(cache_dir, os_build), kVaultName), signer);
  ANELANE_TRY(make_folders(folder, 0700));
  sweep(cache_dir);
  return ProgramStore(folder);
}

std::string ProgramStore::entry_file(const std::string& id) const {
  return join_path(join_path(folder_, id), kPlanName);
}

Status ProgramStore::store(const std::string& id, std::span<const uint8_t> plan) const {
  if (!is_content_id(id))
    return error(Code::kInvalidArgument, "\"" + id.substr(0, 64) + "\" is not a content identifier");
  ANELANE_ASSIGN(Staging staging, Staging::make(folder_));
  const std::string staged = join_path(staging.path(), kPlanName);
  ANELANE_TRY(write_flushed(staged, plan));
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
  if (bytes.ok()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return bytes;
}

}  // namespace anelane::soft
