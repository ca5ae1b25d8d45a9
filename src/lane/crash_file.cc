#include "lane/crash_file.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "lane/lane_files.h"
#include "lane/lane_record.h"

namespace anelane {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

CrashBook read_book(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxBytes);
  return text.ok() ? CrashBook::from_text(*text) : CrashBook();
}

}  // namespace

CrashFile::CrashFile(const std::string& folder) : path_(join_path(folder, lane_files::kCrashes)) {}

uint64_t CrashFile::held_ms(const std::string& key) const {
  const StdioGuard guard;
  return read_book(path_).held_ms(key, unix_ms());
}

uint64_t CrashFile::crashed(const std::string& key, const std::string& name) const {
  const StdioGuard guard;
  CrashBook book = read_book(path_);
  const int64_t now = unix_ms();
  book.crashed(key, name, now);
  return write(book) ? book.held_ms(key, now) : 0;
}

void CrashFile::served(const std::string& key) const {
  const StdioGuard guard;
  CrashBook book = read_book(path_);
  if (!book.served(key)) return;
  book.forget_old(unix_ms());
  if (book.entries().empty() || !write(book)) ::unlink(path_.c_str());  // rather than hold one that serves
}

bool CrashFile::write(const CrashBook& book) const {
  const Status written = replace_lane_file(path_, book.text());
  if (!written.ok())
    log_line(LogLevel::kWarn, "the next lane here will not know which workers crashed: " + written.message());
  return written.ok();
}

Json crash_loops_of(const std::string& folder) {
  const int64_t now = unix_ms();
  CrashBook book = read_book(join_path(folder, lane_files::kCrashes));
  book.forget_old(now);
  Json loops = Json::array();
  for (const CrashBook::Entry& e : book.entries()) {
    Json loop = Json::object().set("model", e.name).set("crashes", static_cast<int64_t>(e.crashes.size()));
    loops.push(std::move(loop.set("retry_after_ms", static_cast<int64_t>(held_ms(e, now)))));
  }
  return loops;
}

}  // namespace anelane
