// Lines are gathered while an event is carried out and written when the lane thread has nothing more to do.
// After the end of the record nothing is recorded any more, and the scheduler is not watched.
#include "lane/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "worker/protocol.h"

namespace anelane {
namespace {
constexpr size_t kClosingLine = 64;    // room that is kept for it
constexpr size_t kFlushAt = 1u << 20;  // of gathered bytes, also within an event

// A forked child lets go of it at once, or it would keep the record locked.
Result<fork_guard::Fd> open_record(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return io_error("create the record", path, errno);
  return fork_guard::Fd(above_stdio(std::move(file)));
}
}  // namespace

Result<std::unique_ptr<HistoryFile>> HistoryFile::create(const std::string& path, size_t limit) {
  ANELANE_ASSIGN(fork_guard::Fd file, fork_guard::unforked([&] { return open_record(path); }));
  // Locked, so that no other lane empties it. What knows no lock (a device) is nobody's record.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return error(Code::kInvalidArgument, "another lane writes the record " + path + "; name another file");
  (void)!::ftruncate(file.get(), 0);
  return std::unique_ptr<HistoryFile>(new HistoryFile(std::move(file), path, limit));
}

HistoryFile::~HistoryFile() {
  end("closed");
}

void HistoryFile::start(sched::Scheduler* scheduler, const sched::Options& options) {
  scheduler_ = scheduler;
  scheduler_->observe(&recorder_);
  recorder_.start(options, worker::build_id());
  flush();
}

void HistoryFile::write(const std::string& line) {
  if (!on()) return;
  if (bytes_ + line.size() + 1 + kClosingLine > limit_) {
    log_line(LogLevel::kWarn, "the record " + path_ + " is full at " + std::to_string(bytes_) +
                                  " bytes; the lane goes on without");
    return end("full");
  }
  bytes_ += line.size() + 1;
  buffer_ += line;
  buffer_ += '\n';
  if (buffer_.size() >= kFlushAt) flush();
}

void HistoryFile::flush() {
  if (buffer_.empty()) return;
  const FileSizeSignalHeld held;
  size_t done = 0;
  while (on() && done < buffer_.size()) {
    const ssize_t n = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      log_line(LogLevel::kWarn, "cannot write the record " + path_ + ": " + errno_text(n == 0 ? EIO : errno) +
                                    "; the lane goes on without");
      file_.reset();
      stop_looking();
    }
  }
  buffer_.clear();
}

void HistoryFile::end(const char* why) {
  if (!on()) return;
  buffer_ += std::string("{\"end\":\"") + why + "\"}\n";
  flush();
  file_.reset();
  stop_looking();
}

void HistoryFile::stop_looking() {
  if (scheduler_ != nullptr) scheduler_->observe(nullptr);
  scheduler_ = nullptr;
}

}  // namespace anelane
