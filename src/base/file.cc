#include "base/file.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace anelane {
namespace {

// Opens a regular file for reading without ever blocking on a fifo or a device.
Result<UniqueFd> open_regular(const std::string& path, struct stat* st) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return io_error("open", path, errno);
  if (::fstat(fd.get(), st) != 0) return io_error("examine", path, errno);
  if (S_ISDIR(st->st_mode))
    return error(Code::kIo, "cannot read " + path + ": it is a folder, a file is needed");
  if (!S_ISREG(st->st_mode)) return error(Code::kIo, "cannot read " + path + ": it is not a regular file");
  return fd;
}

Status write_all(int fd, std::span<const uint8_t> bytes, const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0) {
      if (errno == EINTR) continue;
      return io_error("write", path, errno);
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

UniqueFd above_stdio(UniqueFd fd) {
  if (fd.get() < 0 || fd.get() > 2) return fd;
  UniqueFd higher(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  return higher ? std::move(higher) : std::move(fd);
}

StdioGuard::StdioGuard() {
  for (UniqueFd& fd : held_) {
    fd = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (fd.get() > STDERR_FILENO || !fd) {
      fd.reset();
      return;
    }
  }
}

namespace {
bool is_pending(int signal) {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}
}  // namespace

FileSizeSignalHeld::FileSizeSignalHeld() : was_pending_(is_pending(SIGXFSZ)) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

FileSizeSignalHeld::~FileSizeSignalHeld() {
  if (!was_pending_ && is_pending(SIGXFSZ)) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    int got = 0;
    sigwait(&ours, &got);  // at once: it is pending
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::string errno_text(int error_number) {
  const std::string text = std::generic_category().message(error_number);
  switch (error_number) {
    case EMFILE:
      return text + " in this process (close some, or raise its limit: ulimit -n)";
    case ENFILE:
      return text + " (close some programs, or raise the system's limit)";
    case ENOSPC:
    case EDQUOT:
      return text + " (make room there, or name another folder)";
    default:
      return text;
  }
}

bool is_shortage(int error_number) {
  return error_number == EAGAIN || error_number == ENOMEM || error_number == ENOBUFS ||
         error_number == EMFILE || error_number == ENFILE;
}

Status io_error(std::string_view doing, const std::string& path, int error_number) {
  Status status =
      error(Code::kIo, "cannot " + std::string(doing) + " " + path + ": " + errno_text(error_number));
  return std::move(status).with_class(is_shortage(error_number));
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  struct stat st {};
  ANELANE_ASSIGN(UniqueFd fd, open_regular(path, &st));
  MappedFile file;
  if (st.st_size == 0) return file;
  void* data = ::mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return io_error("map", path, errno);
  file.data_ = static_cast<const uint8_t*>(data);
  file.size_ = static_cast<size_t>(st.st_size);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_) {
  other.data_ = nullptr;
  other.size_ = 0;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  struct stat st {};
  ANELANE_ASSIGN(UniqueFd fd, open_regular(path, &st));
  if (static_cast<uint64_t>(st.st_size) > limit)
    return error(Code::kIo, "cannot read " + path + ": " + std::to_string(st.st_size) + " bytes, at most " +
                                std::to_string(limit) + " are accepted")
        .with_limit(limit);
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + done, text.size() - done);
    if (n < 0) {
      if (errno == EINTR) continue;
      return io_error("read", path, errno);
    }
    if (n == 0) break;  // it shrank meanwhile: give what there is
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

Status write_file_atomic(const std::string& path, std::span<const uint8_t> bytes, unsigned mode) {
  static std::atomic<uint64_t> serial{0};
  const std::string temp = path + ".partial-" + std::to_string(::getpid()) + "-" +
                           std::to_string(serial.fetch_add(1, std::memory_order_relaxed));
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return io_error("create", temp, errno);
  Status status = write_all(fd.get(), bytes, temp);
  if (status.ok() && ::fsync(fd.get()) != 0) status = io_error("flush", temp, errno);
  if (status.ok() && ::rename(temp.c_str(), path.c_str()) != 0)
    status = io_error("rename into place", path, errno);
  if (!status.ok()) ::unlink(temp.c_str());
  return status;
}

Status write_file_atomic(const std::string& path, std::string_view text, unsigned mode) {
  return write_file_atomic(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()), mode);
}

Status make_folders(const std::string& path, unsigned mode) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end != path.size() && path[end] != '/') continue;
    const std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST) {
      const int why = errno;
      if (!is_folder(prefix)) return io_error("create folder", prefix, why);
    }
  }
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return io_error("create folder", path, errno);
  if (!S_ISDIR(st.st_mode)) return io_error("create folder", path, ENOTDIR);
  return {};
}

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

Status remove_tree(const std::string& path) {
  std::error_code ec;
  std::filesystem::remove_all(path, ec);
  if (ec) return error(Code::kIo, "cannot remove " + path + ": " + ec.message());
  return {};
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

Result<std::string> home_folder() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home);
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      entry.pw_dir != nullptr && entry.pw_dir[0] == '/')
    return std::string(entry.pw_dir);
  return error(Code::kIo, "cannot find the home folder: HOME is not set and the user database names none");
}

}  // namespace anelane
