// A worker that misbehaves on demand: FAKE_WORKER names the habit. It has the real descriptors and speaks the
// real frames, up to the point where the habit begins.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/control_thread.h"
#include "worker/frame_io.h"
#include "worker/owner_watch.h"
#include "worker/protocol.h"
#include "worker/worker_descriptors.h"
#include "worker/worker_handle.h"

namespace anelane::worker {
namespace {

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

void send_raw(std::string_view bytes) {
  (void)!::send(kStreamFd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

// One "name value" a line: what this process was started with.
void report(const char* path, char** argv, char** envp) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) ::_exit(9);
  std::string names;
  if (DIR* dir = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(dir)) {
      const int fd = std::atoi(entry->d_name);
      if (entry->d_name[0] == '.' || fd == ::dirfd(dir) || fd == ::fileno(file)) continue;
      char target[512] = {};
      (void)!::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target - 1);
      std::fprintf(file, "fd %d %s\n", fd, target);
    }
    ::closedir(dir);
  }
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  int blocked = 0, ignored = 0;  // handlers do not survive an exec, ignored signals do
  for (int signal = 1; signal < NSIG; ++signal) {
    blocked += ::sigismember(&mask, signal) == 1 ? 1 : 0;
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ++ignored;
  }
  std::fprintf(file, "blocked %d\nignored %d\nargv0 %s\n", blocked, ignored, argv[0]);
  std::fprintf(file, "log_nonblocking %d\n", (::fcntl(kErrFd, F_GETFL) & O_NONBLOCK) != 0 ? 1 : 0);
  for (char** entry = envp; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "ANELANE_", 8) == 0 || std::strncmp(*entry, "KEEP_", 5) == 0)
      std::fprintf(file, "env %s\n", *entry);
  std::fclose(file);
}

int act(const std::string& habit) {
  FrameReader reader;
  if (habit == "dies_unheard") ::_exit(7);
  if (habit == "dies_with_words") {
    std::fprintf(stderr, "cannot open shared object libfoo.so\nno such luck\n");
    ::_exit(7);
  }
  if (habit == "killed") ::raise(SIGKILL);
  if (habit == "hangs") sleep_for_ever();
  Result<Frame> init = receive_frame(kStreamFd, &reader, kNoDeadline);
  if (!init.ok()) return 8;
  const Result<InitBody> body = parse_init(init->body);
  if (!body.ok()) return 8;
  HelloBody hello;
  hello.version = limits::kProtocolVersion;
  hello.nonce = body->nonce;
  hello.build = build_id();
  hello.engine = "fake";
  hello.pid = ::getpid();
  if (habit == "wrong_build") hello.build = "0.0.9+abc";
  if (habit == "wrong_nonce") hello.nonce = "somebody";
  if (habit == "wrong_version") hello.version = 2;
  std::string wire = encode_frame({FrameType::kHello, init->request, to_json(hello).dump()});
  if (habit == "garbage") wire = "GET / HTTP/1.1\r\n\r\n";
  if (habit == "oversize") wire = std::string("\xff\xff\xff\x7f\x02", 5);
  if (habit == "unknown_type") wire[4] = 99;
  if (habit == "not_json") wire = encode_frame({FrameType::kHello, init->request, "{"});
  if (habit == "other_frame") wire = encode_frame({FrameType::kRan, init->request, ""});
  if (habit == "half_frame") wire.resize(wire.size() / 2);
  if (habit == "two_hellos") wire += wire;
  if (habit == "dies_after_half") {
    send_raw(std::string_view(wire).substr(0, wire.size() / 2));
    ::_exit(7);
  }
  if (habit == "refuses")
    wire = encode_frame(
        {FrameType::kFailed, init->request,
         to_json(error(Code::kEngineUnavailable, "the framework has changed").with_limit(5)).dump()});
  if (habit == "closes_stream") {
    ::close(kStreamFd);
    sleep_for_ever();
  }
  if (habit == "slow_bytes") {
    for (const char c : wire) {
      send_raw(std::string_view(&c, 1));
      ::usleep(200);
    }
  } else {
    send_raw(wire);
  }
  if (habit == "ends_when_closed") {
    while (receive_frame(kStreamFd, &reader, kNoDeadline).ok()) {
    }
    return 0;
  }
  if (habit == "stuck_engine") {
    // A control thread as in a real worker, beside an engine thread that will never come back.
    Result<UniqueFd> owner = open_owner_watch(kOwnerFd);
    if (!owner.ok()) return 0;
    Activity activity;
    activity.request = 42;
    activity.since_ns = now_ns();
    ControlEnds ends;
    ends.control = UniqueFd(kControlFd);
    ends.owner = *std::move(owner);
    ends.stream = kStreamFd;
    ends.in_process = true;
    const auto control = ControlThread::start(std::move(ends), &activity);
    sleep_for_ever();
  }
  ::signal(SIGTERM, SIG_IGN);
  sleep_for_ever();  // "ignores_everything" and the habits that end here
}

}  // namespace
}  // namespace anelane::worker

int main(int, char** argv, char** envp) {
  const char* habit = std::getenv("FAKE_WORKER");
  const char* path = std::getenv("FAKE_WORKER_REPORT");
  if (path != nullptr) anelane::worker::report(path, argv, envp);
  return anelane::worker::act(habit == nullptr ? "" : habit);
}
