// A child process with a pipe on its standard output. States: between steps → in a step (its "begin" line has
// come) → between steps, until the line "end". Whatever ends otherwise is reported as the failure of the step
// that was running. The child is always collected before the functions return. Main thread only.
#include "worker_steps.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

extern char** environ;  // POSIX leaves its declaration to the program

namespace anelane_tool {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::chrono::seconds kStepTime{120};
constexpr std::chrono::seconds kCompileTime{
    600};                                      // a service that is busy with other programs, and its queue
constexpr std::chrono::seconds kWordTime{20};  // a first start of a new file is checked by the system
constexpr size_t kLineMax = 64 * 1024;

class Child {
 public:
  Child(const std::string& file, std::vector<std::string> arguments);
  ~Child() { collect(true); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  const std::string& fault() const { return fault_; }  // "": it was started
  enum class Read { kLine, kEnd, kTooLate };
  Read line(Clock::time_point deadline, std::string* out);
  // "was killed by signal 11"; it has closed its output, or is to be killed.
  std::string collect(bool force);

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
    if (got <= 0 || buffer_.size() > kLineMax) return Read::kEnd;
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

std::string Child::collect(bool force) {
  if (out_ >= 0) ::close(out_);
  out_ = -1;
  if (pid_ == 0) return {};
  // One that has closed its output is leaving; whatever stays a second longer is made to.
  int status = 0;
  pid_t got = 0;
  for (int i = 0; !force && i < 100; ++i) {
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

std::string text_of(const json& line, const char* name) {
  const auto it = line.find(name);
  return it != line.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

WorkerEnd run_worker_steps(const std::string& worker, const std::string& options,
                           const std::function<void(const DoctorStep&)>& on_step) {
  const char* report = "run the doctor again; if it happens again, report it";
  Child child(worker, {"anelane-worker", "--doctor", options});
  if (!child.fault().empty()) {
    on_step({"worker process", "failed", child.fault(), "install the worker again", 0});
    return {};
  }
  std::string running;  // the step
  for (std::string text;;) {
    const auto limit = running == "compile" || running == "pool" ? kCompileTime : kStepTime;
    const Child::Read read = child.line(Clock::now() + limit, &text);
    const std::string name = running.empty() ? "worker process" : running;
    if (read == Child::Read::kTooLate) {
      child.collect(true);
      on_step({name, "failed", "no end within " + std::to_string(limit.count()) + " s; the worker was killed",
               "restart the machine if the system's service hangs; else report it", 0});
      return {};
    }
    if (read == Child::Read::kEnd) {
      on_step({name, "failed", "the worker " + child.collect(false) + " in this step", report, 0});
      return {};
    }
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object()) {
      child.collect(true);
      on_step({name, "failed", "the worker printed what is no step: " + text.substr(0, 200),
               "is it the anelane-worker of this build?", 0});
      return {};
    }
    if (line.contains("end")) {
      child.collect(false);
      return {text_of(line, "engine")};
    }
    if (line.contains("begin")) {
      running = text_of(line, "step");
      continue;
    }
    running.clear();
    const auto ms = line.find("ms");
    on_step({text_of(line, "step"), text_of(line, "outcome"), text_of(line, "detail"),
             text_of(line, "advice"), ms != line.end() && ms->is_number() ? ms->get<double>() : 0});
  }
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
      child.collect(true);
      *fault = "it does not answer to " + word;
      return {};
    }
    if (read == Child::Read::kEnd) break;
    out += (out.empty() ? "" : "\n") + text;
  }
  const std::string end = child.collect(false);
  if (end != "ended with code 0") *fault = "asked for " + word + ", it " + end;
  return out;
}

}  // namespace anelane_tool
