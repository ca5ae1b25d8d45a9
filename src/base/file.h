// Files and descriptors: RAII handles, whole-file reads, read-only mappings, and writes that are seen
// whole or not at all. Every descriptor made here is close-on-exec. Errors name the path and the reason.
#pragma once
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace anelane {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset();

 private:
  int fd_ = -1;
};

// The same file on a descriptor above 2, close-on-exec. For descriptors that live long: in a host that runs
// with its standard streams closed, 0, 1 and 2 are what some printf will write to. Unchanged when that fails.
UniqueFd above_stdio(UniqueFd fd);

// While it lives, new descriptors do not land on 0, 1 or 2 in a host that has closed some of them: there the
// host's own output would go into them.
class StdioGuard {
 public:
  StdioGuard();

 private:
  UniqueFd held_[3];
};

// While it lives, a write beyond the host's file size limit fails (EFBIG) instead of raising SIGXFSZ in this
// thread, whose default would end the host.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld();
  ~FileSizeSignalHeld();
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;

 private:
  sigset_t before_;
  bool was_pending_;
};

// A read-only mapping of a regular file. An empty file maps to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// "No such file or directory" for an errno, and what to do about those that a machine runs out of.
// Thread-safe.
std::string errno_text(int error_number);
// Of something that there may be more of another time: descriptors, processes, memory.
bool is_shortage(int error_number);
// IO error "cannot <doing> <path>: <errno text>"; ENOMEM and ENOSPC included in the text.
Status io_error(std::string_view doing, const std::string& path, int error_number);

// The whole regular file, refused beyond `limit` bytes (a folder, a device or a fifo is refused at once).
Result<std::string> read_file(const std::string& path, size_t limit);
// Writes beside the target under a unique name, flushes, renames: readers see the old bytes or the new.
Status write_file_atomic(const std::string& path, std::span<const uint8_t> bytes, unsigned mode = 0600);
Status write_file_atomic(const std::string& path, std::string_view text, unsigned mode = 0600);
// mkdir -p with this mode for what is missing.
Status make_folders(const std::string& path, unsigned mode = 0700);
bool is_folder(const std::string& path);
bool is_regular_file(const std::string& path);
Status remove_tree(const std::string& path);
std::string join_path(std::string_view folder, std::string_view name);
// Home folder of the effective user: $HOME if set and absolute, else the user database.
Result<std::string> home_folder();

}  // namespace anelane
