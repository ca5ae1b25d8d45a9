// The record of a lane's decisions on disk (the lane option record_path): everything that its scheduler is
// told and what it decides, for anelane_replay. Lane thread only.
//
// Bounded: at limits::kHistoryBytes the record ends with a line that says so. A failed write ends it too,
// with one line in the log; the lane itself never notices.
#pragma once
#include <memory>
#include <string>

#include "base/fork_guard.h"
#include "base/limits.h"
#include "scheduler/history.h"

namespace anelane {

class HistoryFile {
 public:
  // A new file, or an old one emptied. IO, naming the path.
  static Result<std::unique_ptr<HistoryFile>> create(const std::string& path,
                                                     size_t limit = limits::kHistoryBytes);
  ~HistoryFile();  // writes the closing line
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // The first line; from here on `scheduler` shows what it reads. It must outlive this.
  void start(sched::Scheduler* scheduler, const sched::Options& options);
  // What was recorded goes to the file. Between events, not within one.
  void flush();

 private:
  HistoryFile(fork_guard::Fd file, std::string path, size_t limit)
      : file_(std::move(file)),
        path_(std::move(path)),
        limit_(limit),
        recorder_([this](const std::string& line) { write(line); }) {}
  bool on() const { return file_.valid(); }
  void write(const std::string& line);
  void end(const char* why);
  void stop_looking();

  fork_guard::Fd file_;  // invalid once the record has ended
  const std::string path_;
  const size_t limit_;
  size_t bytes_ = 0;
  std::string buffer_;
  sched::Scheduler* scheduler_ = nullptr;
  sched::HistoryRecorder recorder_;
};

}  // namespace anelane
