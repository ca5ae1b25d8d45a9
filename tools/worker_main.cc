// anelane-worker: one worker of a lane as a process. It is started by the library with the descriptors of
// worker/worker_descriptors.h; started by hand it explains itself and leaves.
//
// Signals: SIGINT, SIGQUIT and SIGHUP are ignored, because a Ctrl-C or a closed terminal is meant for the
// host (whose process group we share) and it is for the host to decide what ends; when it does, we see its
// death and go. SIGPIPE is ignored, so that a log line to a host that is gone is no event. SIGTERM keeps its
// meaning.
//
// `anelane-worker --doctor OPTIONS` is for `anelane doctor`: the steps of worker/doctor.h on standard output.
//
// Log lines go to the pipe on descriptor 2 as "LEVEL text", one write each, whole or not at all: the pipe
// never blocks, and what does not fit is counted and reported with the next line that does. Exit codes: 0 in
// good order or owner gone, 1 on an error (its text is the last line), 2 started by hand, 3 forced after it
// was asked to end.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/log.h"
#include "worker/doctor.h"
#include "worker/engine_choice.h"
#include "worker/owner_watch.h"
#include "worker/protocol.h"
#include "worker/worker_descriptors.h"
#include "worker/worker_loop.h"

namespace {

using anelane::LogLevel;
using anelane::UniqueFd;
namespace worker = anelane::worker;

constexpr size_t kLineMax = 4000;  // below PIPE_BUF: a write is all or nothing

class LogPipe {
 public:
  void write_line(int32_t level, const char* text) {
    const uint64_t lost = lost_.exchange(0);
    if (lost != 0 && !put("WARN " + std::to_string(lost) + " log lines of the worker were lost\n"))
      lost_ += lost;
    std::string line = std::string(name(level)) + ' ' + text;
    line.resize(std::min(line.size(), kLineMax));
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (!put(line + '\n')) ++lost_;
  }

 private:
  static const char* name(int32_t level) {
    constexpr const char* kNames[] = {"DEBUG", "INFO", "WARN", "ERROR"};
    return kNames[std::clamp(level, 0, 3)];
  }
  static bool put(const std::string& line) {
    ssize_t n = 0;
    do n = ::write(worker::kErrFd, line.data(), line.size());
    while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(line.size());
  }
  std::atomic<uint64_t> lost_{0};
};

void write_log(void* pipe, int32_t level, const char* line) {
  static_cast<LogPipe*>(pipe)->write_line(level, line);
}

bool is_stream_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// A terminal and a service manager send these to the whole group: the host decides what they mean, and a
// worker ends with its host.
void set_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

int explain() {
  std::fprintf(stderr,
               "anelane-worker serves the Neural Engine to a program that uses libanelane, which starts it; "
               "it does nothing when started by hand. Try anelane-worker --version.\n");
  return 2;
}

int serve() {
  set_signals();
  LogPipe pipe;
  anelane::set_log(write_log, &pipe, LogLevel::kInfo);
  for (int fd = worker::kStreamFd; fd < worker::kWorkerDescriptors; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  anelane::Result<UniqueFd> owner = worker::open_owner_watch(worker::kOwnerFd);
  if (!owner.ok()) {
    // Without its owner there is nobody to serve and nobody to tell.
    if (owner.status().code() == anelane::Code::kEngineCrashed) return 0;
    anelane::log_line(LogLevel::kError, "worker: " + owner.status().message());
    return 1;
  }
  worker::LoopEnds ends;
  ends.stream = UniqueFd(worker::kStreamFd);
  ends.control = UniqueFd(worker::kControlFd);
  ends.owner = *std::move(owner);
  if (::fcntl(worker::kArenaFd, F_GETFD) >= 0) ends.arena = UniqueFd(worker::kArenaFd);
  const anelane::Status status = worker::run_worker_loop(std::move(ends), true);
  anelane::set_log(nullptr, nullptr, LogLevel::kOff);
  return status.ok() ? 0 : 1;
}

// Each line goes out at once: the reader must know the step that this process died in.
int examine(const char* text) {
  const anelane::Result<worker::DoctorOptions> options = worker::parse_doctor_options(text);
  if (!options.ok()) {
    std::fprintf(stderr, "anelane-worker: %s\n", options.status().message().c_str());
    return 2;
  }
  const auto print = [](const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  };
  return worker::run_doctor(*options, print) ? 0 : 1;
}

int leave_mark() {
  const anelane::Status status = worker::mark_doctor_passed();
  if (!status.ok()) std::fprintf(stderr, "anelane-worker: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("anelane-worker %s\n", worker::build_id());
    return 0;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--doctor") return examine(argv[2]);
  if (argc == 2 && std::string_view(argv[1]) == "--doctor-passed") return leave_mark();
  if (argc > 1 || !is_stream_socket(worker::kStreamFd) || !is_stream_socket(worker::kControlFd))
    return explain();
  return serve();
}
