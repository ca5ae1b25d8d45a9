// A child process with a pipe on its standard output. What its lines mean is worker_report.h's affair; here
// are the process, the times and the lengths. Whatever ends otherwise than by the line "end" is reported as
// the failure of the step that was running. The child is always collected before the functions return. Main
// thread only.
#include "worker_steps.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "worker_report.h"

extern char** environ;  // POSIX leaves its declaration to the program

namespace anelane_tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kWordTime{20};  // a first start of a new file is checked by the system
constexpr std::chrono::milliseconds kExitTime{10'000};  // of one that has said its last
constexpr size_t kLineMax = 64 * 1024;
constexpr size_t kWordMax = 64 * 1024;

class Child {
 public:
  Child(const std::string& file, std::vector<std::string> arguments);
  ~Child() { collect(kNow); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  const std::string& fault() const { return fault_; }  // "": it was started
  enum class Read { kLine, kEnd, kTooLate, kTooLong };
  Read line(Clock::time_point deadline, std::string* out);
  // "was killed by signal 11". It is killed where it has not left in time.
  std::string collect(std::chrono::milliseconds patience);
  static constexpr std::chrono::milliseconds kNow{0};

 private:
  pid_t pid_ = 0;
  int out_ = -1;
  std::string fault_, buffer_;
};

Child::Child(const std::string& file, std::vector<std::string> arguments) {
  int ends[2];
  if (::pipe(ends) != 0) {
    fault_ = std::string("cannot make a pipe: ") + std::strerror(errno);
    return;
  }
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int why = ::posix_spawn(&pid_, file.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  out_ = ends[0];
  if (why == 0) return;
  pid_ = 0;
  fault_ = "cannot start it: " + std::string(std::strerror(why));
}

Child::Read Child::line(Clock::time_point deadline, std::string* out) {
  for (;;) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      *out = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Read::kLine;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Read::kTooLate;
    pollfd entry{out_, POLLIN, 0};
    const int n = ::poll(&entry, 1, static_cast<int>(left));
    if (n < 0 && errno != EINTR) return Read::kEnd;
    if (n <= 0) continue;
    char chunk[4096];
    const ssize_t got = ::read(out_, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Read::kEnd;
    if (buffer_.size() > kLineMax) return Read::kTooLong;
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

std::string Child::collect(std::chrono::milliseconds patience) {
  if (out_ >= 0) ::close(out_);
  out_ = -1;
  if (pid_ == 0) return {};
  int status = 0;
  pid_t got = 0;
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    got = ::waitpid(pid_, &status, WNOHANG);
    if (got != 0) break;
    ::poll(nullptr, 0, 10);
  }
  if (got == 0) {
    ::kill(pid_, SIGKILL);
    do got = ::waitpid(pid_, &status, 0);
    while (got < 0 && errno == EINTR);
  }
  pid_ = 0;
  if (got < 0) return "has ended";
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

WorkerEnd run_worker_steps(const std::string& worker, const std::string& options,
                           const std::function<void(const DoctorStep&)>& on_step, const WorkerTimes& times) {
  const char* again = "run the doctor again; if it happens again, report it";
  Child child(worker, {"anelane-worker", "--doctor", options});
  if (!child.fault().empty()) {
    on_step({"worker process", "failed", child.fault(), "install the worker again", 0});
    return {};
  }
  WorkerReport report;
  const Clock::time_point last = Clock::now() + times.total;
  for (std::string text; !report.over();) {
    const bool slow = report.running() == "compile" || report.running() == "pool";
    const auto limit = slow ? times.compile : times.step;
    const Clock::time_point due = Clock::now() + limit;
    const Child::Read read = child.line(std::min(due, last), &text);
    const std::string name = report.running().empty() ? "worker process" : report.running();
    if (read == Child::Read::kTooLate) {
      child.collect(Child::kNow);
      on_step({name, "failed",
               "no end within " + std::to_string((last < due ? times.total : limit).count()) + " s" +
                   (last < due ? " in all" : "") + "; the worker was killed",
               "restart the machine if the system's service hangs; else report it", 0});
      return {};
    }
    if (read == Child::Read::kEnd) {
      on_step({name, "failed", "the worker " + child.collect(kExitTime) + " in this step", again, 0});
      return {};
    }
    if (read == Child::Read::kTooLong) text = "a line of more than 64 KiB";
    if (const std::optional<DoctorStep> step = report.hear(text)) on_step(*step);
  }
  const std::optional<DoctorStep> left =
      report.verdict(child.collect(report.ended() ? kExitTime : Child::kNow));
  if (left) on_step(*left);
  return {report.engine()};
}

std::string ask_worker(const std::string& worker, const std::string& word, std::string* fault) {
  Child child(worker, {"anelane-worker", word});
  *fault = child.fault();
  if (!fault->empty()) return {};
  std::string out, text;
  const Clock::time_point deadline = Clock::now() + kWordTime;
  for (;;) {
    const Child::Read read = child.line(deadline, &text);
    if (read == Child::Read::kTooLate) {
      *fault = "it does not answer to " + word;
      return {};
    }
    if (read == Child::Read::kEnd) break;
    out += (out.empty() ? "" : "\n") + text;
    if (read == Child::Read::kTooLong || out.size() > kWordMax) {
      *fault = "asked for " + word + ", it prints without end";
      return {};
    }
  }
  const std::string end = child.collect(kExitTime);
  if (end != "ended with code 0") *fault = "asked for " + word + ", it " + end;
  return out;
}

}  // namespace anelane_tool
