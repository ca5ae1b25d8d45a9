// A pid alone may be somebody else's by now, so the record carries the start time of the process as well. The
// record is written under one fixed second name and renamed: only the lock's holder writes, so there is never
// a second writer, and a crash in between leaves at most one file, which the next holder overwrites.
#include "lane/lane_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "lane/lane_files.h"

#ifdef __APPLE__
#include <libproc.h>
#include <mach-o/dyld.h>
#include <sys/proc_info.h>
#endif

namespace anelane {
namespace {

constexpr size_t kMaxRecordBytes = 64 * 1024;

// 0 when it cannot be told.
uint64_t start_of(pid_t pid) {
#ifdef __APPLE__
  proc_bsdinfo info{};
  if (::proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &info, sizeof info) != static_cast<int>(sizeof info)) return 0;
  return info.pbi_start_tvsec * 1'000'000 + info.pbi_start_tvusec;
#else
  // Files of /proc have no size, so read_file does not apply.
  const UniqueFd fd(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return 0;
  const std::string_view line(text, static_cast<size_t>(n));
  // The name in parentheses may hold anything; field 22 is the 20th after it.
  size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string_view::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(std::string(line.substr(at + 1)).c_str(), nullptr, 10);
#endif
}

std::string program_name() {
#ifdef __APPLE__
  char path[PATH_MAX];
  uint32_t size = sizeof path;
  if (::_NSGetExecutablePath(path, &size) != 0) return "unknown";
  std::string name(path);
#else
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  std::string name = n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string(program_invocation_name);
#endif
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

}  // namespace

LaneRecord record_of_this_process() {
  LaneRecord record;
  record.pid = static_cast<uint32_t>(::getpid());
  record.start = start_of(::getpid());
  record.since_unix_ms = unix_ms();
  record.program = program_name();
  return record;
}

Status replace_lane_file(const std::string& path, const std::string& text) {
  const std::string next = path + ".next";
  const UniqueFd fd(
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  const FileSizeSignalHeld held;
  if (!fd) return io_error("create", next, errno);
  Status status;
  errno = ENOSPC;  // what a write that stops short means
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    status = io_error("write", next, errno);
  else if (::rename(next.c_str(), path.c_str()) != 0)
    status = io_error("rename into place", path, errno);
  if (!status.ok()) ::unlink(next.c_str());
  return status;
}

Status write_lane_record(const std::string& folder, const LaneRecord& record) {
  Json json = Json::object().set("pid", record.pid).set("program", record.program);
  json.set("since_unix_ms", record.since_unix_ms).set("start", record.start);
  return replace_lane_file(join_path(folder, lane_files::kRecord), json.dump() + "\n");
}

std::optional<LaneRecord> read_lane_record(const std::string& folder) {
  const Result<std::string> text = read_file(join_path(folder, lane_files::kRecord), kMaxRecordBytes);
  if (!text.ok()) return std::nullopt;
  const Result<Json> json = parse_json(*text, "lane.json", 4);
  if (!json.ok()) return std::nullopt;
  LaneRecord record;
  const int64_t pid = json->at("pid").as_int(0);
  if (pid <= 0 || pid > INT_MAX) return std::nullopt;
  record.pid = static_cast<uint32_t>(pid);
  record.start = static_cast<uint64_t>(json->at("start").as_int(0));
  record.since_unix_ms = json->at("since_unix_ms").as_int(0);
  record.program = json->at("program").as_string();
  return record;
}

bool is_alive(const LaneRecord& record) {
  const uint64_t start = start_of(static_cast<pid_t>(record.pid));
  // Without /proc nothing can be told, not even about ourselves; then the record is believed.
  if (start == 0) return start_of(::getpid()) == 0;
  return record.start == 0 || start == record.start;
}

}  // namespace anelane
