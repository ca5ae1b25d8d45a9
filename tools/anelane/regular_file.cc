// A path on the command line may name anything. What is no regular file has no size to compare with a bound,
// and an open or a read of it may wait for ever; so it is opened without waiting and looked at before
// anything is read. A size is checked before memory is asked for: a sparse file costs nobody anything, its
// bytes would. Not thread-safe.
#include "regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace anelane_tool {
namespace {

constexpr size_t kReadAtOnce = size_t{1} << 30;  // some systems refuse more than 2 GiB

}  // namespace

std::optional<RegularFile> RegularFile::open(const std::string& path, std::string* fault) {
  int fd = -1;
  do fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    *fault = std::strerror(errno);
    return std::nullopt;
  }
  struct stat info = {};
  if (::fstat(fd, &info) != 0)
    *fault = std::strerror(errno);
  else if (S_ISDIR(info.st_mode))
    *fault = std::strerror(EISDIR);
  else if (!S_ISREG(info.st_mode))
    *fault = "it is no regular file";
  else
    return RegularFile(fd, static_cast<uint64_t>(info.st_size));
  ::close(fd);
  return std::nullopt;
}

RegularFile::~RegularFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool RegularFile::read(void* to, size_t bytes, std::string* fault) {
  for (auto* at = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = ::read(fd_, at, std::min(bytes, kReadAtOnce));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      *fault = got < 0 ? std::strerror(errno) : "it is shorter than it was";
      return false;
    }
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool read_regular(const std::string& path, uint64_t limit, std::string* to, std::string* fault) {
  std::optional<RegularFile> file = RegularFile::open(path, fault);
  if (!file) return false;
  if (file->size() > limit) {
    *fault =
        "it has " + std::to_string(file->size()) + " bytes, at most " + std::to_string(limit) + " are read";
    return false;
  }
  try {
    to->resize(file->size());
  } catch (const std::bad_alloc&) {
    *fault = "there is not enough memory for its " + std::to_string(file->size()) + " bytes";
    return false;
  }
  return file->read(to->data(), to->size(), fault);
}

}  // namespace anelane_tool
