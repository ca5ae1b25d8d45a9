// The lock of the lane (L1): flock, exclusive, whole file, on one open file description that the workers
// inherit. It is busy until the last descriptor of that description is closed, by whatever means, so a dead
// owner with a living worker is still a busy lane. Nothing here ever unlocks, deletes, steals or kills.
//
// Waiting: flock has no time limit, so it is tried again after sleeps that grow from 1 to 50 ms.
// Looking (lane_holder): without taking the lock where the system shows it (/proc/locks, F_GETLK on macOS).
// Only where a container hides it, a shared lock is tried for an instant; acquire tries more than once so
// that such a look is not mistaken for a holder.
#include "lane/lane_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "lane/lane_files.h"

#ifndef __APPLE__
#include <sys/sysmacros.h>
#endif

namespace anelane {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kFirstSleepNs = kNsPerMs;
constexpr uint64_t kLongestSleepNs = 50 * kNsPerMs;
constexpr int kTriesWithoutDeadline = 3;

void sleep_ns(uint64_t ns) {
  const timespec pause{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&pause, nullptr);
}

bool same_file(int fd, const std::string& path) {
  struct stat open_one {
  }, named{};
  return ::fstat(fd, &open_one) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

Result<fork_guard::Fd> open_lock(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return io_error("open the lane lock", path, errno);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return io_error("examine", path, errno);
  if (!S_ISREG(st.st_mode)) return error(Code::kIo, "the lane lock " + path + " is not a regular file");
  return fork_guard::Fd(above_stdio(std::move(fd)));
}

enum class Attempt { kTaken, kBusy, kFailed };

Attempt try_lock(int fd, int how) {
  int n = 0;
  do n = ::flock(fd, how | LOCK_NB);
  while (n != 0 && errno == EINTR);
  if (n == 0) return Attempt::kTaken;
  return errno == EWOULDBLOCK ? Attempt::kBusy : Attempt::kFailed;
}

std::string since_text(int64_t unix_ms) {
  const time_t seconds = static_cast<time_t>(unix_ms / 1000);
  tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return "?";
  return text;
}

Status lane_busy(const std::string& folder) {
  const std::optional<LaneRecord> record = read_lane_record(folder);
  std::string message = "the Neural Engine lane in " + folder + " is held by ";
  if (!record) return error(Code::kLaneBusy, message + "another process (it left no record)");
  const std::string who = "process " + std::to_string(record->pid) + " (" + record->program + ") since " +
                          since_text(record->since_unix_ms);
  if (is_alive(*record))
    message += who + ": close it, use its lane, or open with a later deadline to wait";
  else
    message += "workers of " + who + ", which has ended: they end by themselves unless they are stopped";
  return error(Code::kLaneBusy, message).with_holder(record->pid);
}

#ifdef __APPLE__

// On this system fcntl sees what flock holds.
Result<bool> is_locked(int fd, const std::string& path) {
  struct flock look {};
  look.l_type = F_WRLCK;
  look.l_whence = SEEK_SET;
  if (::fcntl(fd, F_GETLK, &look) != 0) return io_error("examine the lane lock", path, errno);
  return look.l_type != F_UNLCK;
}

#else

bool listed_in_proc_locks(const struct stat& st) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/locks", "re"), std::fclose);
  if (!file) return false;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), file.get()) != nullptr) {
    unsigned major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.data(), "%*d: FLOCK %*s WRITE %*d %x:%x:%" SCNu64, &major_number, &minor_number,
                    &inode) == 3 &&
        inode == st.st_ino && major_number == major(st.st_dev) && minor_number == minor(st.st_dev))
      return true;
  }
  return false;
}

Result<bool> is_locked(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return io_error("examine", path, errno);
  if (listed_in_proc_locks(st)) return true;
  switch (try_lock(fd, LOCK_SH)) {  // given back when the caller closes fd
    case Attempt::kTaken:
      return false;
    case Attempt::kBusy:
      return true;
    default:
      return io_error("examine the lane lock", path, errno);
  }
}

#endif

}  // namespace

Result<LaneLock> LaneLock::acquire(const std::string& folder, uint64_t deadline_ns,
                                   const std::function<bool()>& cancelled) {
  LaneLock lock;
  lock.path_ = join_path(folder, lane_files::kLock);
  uint64_t sleep = kFirstSleepNs;
  for (int tries = 1;; ++tries) {
    // Opened anew each time: the file may have been removed by somebody who cleans caches.
    ANELANE_ASSIGN(fork_guard::Fd fd, fork_guard::unforked([&] { return open_lock(lock.path_); }));
    const Attempt attempt = try_lock(fd.get(), LOCK_EX);
    if (attempt == Attempt::kFailed) return io_error("lock", lock.path_, errno);
    if (attempt == Attempt::kTaken && same_file(fd.get(), lock.path_)) {
      lock.fd_ = std::move(fd);
      break;
    }
    fd.reset();
    if (cancelled && cancelled())
      return error(Code::kCancelled, "waiting for the lane in " + folder + " was cancelled");
    const uint64_t now = now_ns();
    if (now >= deadline_ns && tries >= kTriesWithoutDeadline) return lane_busy(folder);
    sleep_ns(now >= deadline_ns ? kFirstSleepNs : std::min(sleep, deadline_ns - now));
    sleep = std::min(2 * sleep, kLongestSleepNs);
  }
  // Advice for people only: a full disk must not cost the lane.
  lock.record_ = record_of_this_process();
  const Status recorded = write_lane_record(folder, lock.record_);
  if (!recorded.ok()) log_line(LogLevel::kWarn, "the lane is held without a record: " + recorded.message());
  return lock;
}

Result<LaneHolder> lane_holder(const std::string& folder) {
  LaneHolder holder;
  const std::string path = join_path(folder, lane_files::kLock);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return holder;  // nobody has ever opened the lane
  if (!fd) return io_error("open the lane lock", path, errno);
  ANELANE_ASSIGN(holder.held, is_locked(fd.get(), path));
  if (!holder.held) return holder;
  const std::optional<LaneRecord> record = read_lane_record(folder);
  holder.record_stale = !record || !is_alive(*record);
  if (record) {
    holder.pid = record->pid;
    holder.since_unix_ms = record->since_unix_ms;
    holder.program = record->program;
  }
  return holder;
}

}  // namespace anelane
