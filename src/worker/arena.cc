// Shared tensor memory. Linux: a memfd whose pages exist before anybody maps it (fallocate, so no SIGBUS on a
// full machine) and whose size is sealed, so that neither end can pull it away under the other. macOS: a
// shm_open object that is unlinked before anything else happens; its size cannot change once set.
//
// States: created or attached, then immutable until destruction. Threads: any, the memory itself has no
// order; whoever holds the stream (or the lease of a bay) owns the bytes.
#include "worker/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace anelane::worker {
namespace {

Status memory_error(size_t bytes, int why) {
  const Code code = why == ENOSPC || why == ENOMEM ? Code::kOutOfMemory : Code::kIo;
  Status status = error(code, "cannot make " + std::to_string(bytes) +
                                  " bytes of shared tensor memory: " + errno_text(why) +
                                  (code == Code::kOutOfMemory ? " (free memory, or load fewer models)" : ""));
  return std::move(status).with_class(code == Code::kOutOfMemory || is_shortage(why));
}

#ifdef __APPLE__

Result<UniqueFd> make_object(size_t bytes) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    char name[31];  // PSHMNAMLEN
    std::snprintf(name, sizeof name, "/anelane.%08x%08x", arc4random(), arc4random());
    UniqueFd fd(::shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    if (!fd && errno == EEXIST) continue;
    if (!fd) return memory_error(bytes, errno);
    ::shm_unlink(name);
    ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return memory_error(bytes, errno);
    return fd;
  }
  return memory_error(bytes, EEXIST);
}

Status check_sealed(int) {
  return {};
}

// The kernel rounds the size of a shared memory object up to whole pages.
bool size_fits(uint64_t found, uint64_t bytes) {
  const uint64_t page = static_cast<uint64_t>(::getpagesize());
  return found == bytes || found == (bytes + page - 1) / page * page;
}

#else

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Memory that can be had without driving the system into its out-of-memory killer, which would choose the
// host: pages of a memfd are not accounted when it is made, so fallocate goes on until nothing is left.
// Unknown: no limit.
uint64_t available_memory() {
  const UniqueFd fd(::open("/proc/meminfo", O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return UINT64_MAX;
  text[n] = '\0';
  const char* line = std::strstr(text, "MemAvailable:");
  if (line == nullptr) return UINT64_MAX;
  return std::strtoull(line + sizeof "MemAvailable:" - 1, nullptr, 10) * 1024;
}

Result<UniqueFd> make_object(size_t bytes) {
  if (bytes > available_memory()) return memory_error(bytes, ENOMEM);
  UniqueFd fd(::memfd_create("anelane-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return memory_error(bytes, errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return memory_error(bytes, errno);
  int why = 0;
  do why = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  while (why == EINTR);
  if (why != 0) return memory_error(bytes, why);
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return memory_error(bytes, errno);
  return fd;
}

Status check_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals)
    return error(Code::kProtocol, "the arena descriptor is not a memory object of sealed size");
  return {};
}

bool size_fits(uint64_t found, uint64_t bytes) {
  return found == bytes;
}

#endif

Result<uint8_t*> map(int fd, size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return memory_error(bytes, errno);
  return static_cast<uint8_t*>(data);
}

}  // namespace

Result<std::shared_ptr<Arena>> Arena::create(size_t bytes) {
  if (bytes == 0) return error(Code::kInvalidArgument, "an arena needs at least one byte");
  auto arena = std::shared_ptr<Arena>(new Arena);
  ANELANE_ASSIGN(UniqueFd fd, make_object(bytes));
  arena->fd_ = above_stdio(std::move(fd));
  ANELANE_ASSIGN(arena->data_, map(arena->fd_.get(), bytes));
  arena->size_ = bytes;
  return arena;
}

Result<std::shared_ptr<Arena>> Arena::attach(UniqueFd fd, size_t bytes) {
  struct stat st {};
  if (bytes == 0 || !fd || ::fstat(fd.get(), &st) != 0)
    return error(Code::kProtocol, "there is no arena descriptor of " + std::to_string(bytes) + " bytes");
  if (!size_fits(static_cast<uint64_t>(st.st_size), bytes))
    return error(Code::kProtocol, "the arena has " + std::to_string(st.st_size) + " bytes, INIT announced " +
                                      std::to_string(bytes));
  ANELANE_TRY(check_sealed(fd.get()));
  auto arena = std::shared_ptr<Arena>(new Arena);
  ANELANE_ASSIGN(arena->data_, map(fd.get(), bytes));
  arena->fd_ = std::move(fd);
  arena->size_ = bytes;
  return arena;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace anelane::worker
