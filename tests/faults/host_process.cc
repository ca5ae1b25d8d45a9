// The pipe for what a host says is close-on-exec at both ends here; the host has it as its standard output,
// and its workers do not get it. So the end of the pipe is the end of the host and of the children it forked.
#include "host_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "host.h"

extern char** environ;

namespace faults {

HostProcess::HostProcess(const std::vector<std::string>& words) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  std::vector<std::string> kept = words;
  kept.insert(kept.begin(), "/proc/self/exe");
  std::vector<char*> argv;
  for (std::string& word : kept) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  tells_ = pipe[0];
}

HostProcess::~HostProcess() {
  if (pid_ > 0 && !seen_to_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (tells_ >= 0) ::close(tells_);
}

bool HostProcess::read_more(uint64_t wait_ms) {
  pollfd entry = {tells_, POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(wait_ms)) <= 0) return false;
  char text[256];
  const ssize_t n = ::read(tells_, text, sizeof text);
  if (n > 0) said_.append(text, static_cast<size_t>(n));
  return n > 0;
}

bool HostProcess::has_said(const char* word, uint64_t wait_ms) {
  const uint64_t start = anelane_now_ns();
  while (said_.find(word) == std::string::npos) {
    const uint64_t gone = ms_since(start);
    if (gone < wait_ms && read_more(wait_ms - gone)) continue;
    std::printf("a host did not say %s, but: %s\n", word, said_.c_str());
    return false;
  }
  return true;
}

void HostProcess::kill() {
  if (pid_ > 0 && !seen_to_) ::kill(pid_, SIGKILL);
  seen_to_ = true;
}

int HostProcess::wait_for_end(uint64_t wait_ms) {
  const uint64_t start = anelane_now_ns();
  int status = -1;
  while (!seen_to_ && ms_since(start) < wait_ms) {
    read_more(1);
    seen_to_ = ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (!seen_to_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (read_more(0)) {
  }
  return status;
}

bool nobody_left(uint64_t wait_ms) {
  const uint64_t start = anelane_now_ns();
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (children().empty()) return true;
    if (ms_since(start) > wait_ms) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace faults
