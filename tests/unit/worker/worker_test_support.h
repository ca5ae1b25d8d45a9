// Reading what the kernel says about processes, and running a piece of a test in a process of its own.
#pragma once
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace anelane::worker::test {

inline std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// 'R', 'S', 'Z', …; 0 when there is no such process.
inline char state_of(pid_t pid) {
  const std::string stat = read_all("/proc/" + std::to_string(pid) + "/stat");
  const size_t at = stat.rfind(')');
  return at == std::string::npos || at + 2 >= stat.size() ? '\0' : stat[at + 2];
}
inline bool is_running(pid_t pid) {
  const char state = state_of(pid);
  return state != '\0' && state != 'Z' && state != 'X';
}

template <class Condition>
bool eventually(const Condition& condition, int ms = 10'000) {
  for (int waited = 0; waited < ms; ++waited) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

// Nanoseconds on a processor, of all threads; 0 when the kernel does not tell.
inline uint64_t cpu_ns(pid_t pid) {
  clockid_t clock{};
  timespec spent{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &spent) != 0) return 0;
  return static_cast<uint64_t>(spent.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(spent.tv_nsec);
}

inline std::vector<std::string> open_files(pid_t pid) {
  std::vector<std::string> files;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(dir)) {
      char target[512] = {};
      if (entry->d_name[0] == '.') continue;
      if (::readlink((folder + "/" + entry->d_name).c_str(), target, sizeof target - 1) > 0)
        files.push_back(std::string(entry->d_name) + " " + target);
    }
    ::closedir(dir);
  }
  return files;
}

// Runs `work` in a forked process (state of the whole process may be spoilt there) and returns its exit code;
// work returns 0 when all is well and writes what is not to the given stream. -1: it hung or crashed.
template <class Work>
int in_own_process(const Work& work, std::string* said) {
  std::FILE* notes = std::tmpfile();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    const int code = work(notes);
    std::fflush(notes);
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::rewind(notes);
  char line[1024];
  while (std::fgets(line, sizeof line, notes) != nullptr) *said += line;
  std::fclose(notes);
  if (WIFSIGNALED(status)) *said += "killed by signal " + std::to_string(WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace anelane::worker::test
