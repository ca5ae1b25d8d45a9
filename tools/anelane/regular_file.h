// Files that a command line names, read whole or in parts: regular ones only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace anelane_tool {

class RegularFile {
 public:
  // Waits for nothing: a fifo, a device or a folder is refused. nullopt: *fault says why, without the path.
  static std::optional<RegularFile> open(const std::string& path, std::string* fault);
  RegularFile(RegularFile&& other) noexcept : fd_(other.fd_), size_(other.size_) { other.fd_ = -1; }
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();
  uint64_t size() const { return size_; }  // when it was opened
  // The next `bytes` bytes. False: it has fewer, or they cannot be read; *fault says why.
  bool read(void* to, size_t bytes, std::string* fault);

 private:
  RegularFile(int fd, uint64_t size) : fd_(fd), size_(size) {}
  int fd_;
  uint64_t size_;
};

// The whole file, of at most `limit` bytes. False: *fault says why, without the path.
bool read_regular(const std::string& path, uint64_t limit, std::string* to, std::string* fault);

}  // namespace anelane_tool
