#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

extern char** environ;

namespace standin {

Child::Child(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& knobs) {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<std::string> environment;
  for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
  for (const auto& [knob, value] : knobs) {
    std::string name = "ANE_STANDIN_";
    for (const char c : knob) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    environment.push_back(name.append("=").append(value));
  }
  std::vector<char*> argv{const_cast<char*>(ANELANE_STANDIN_PROBE)}, envp;
  for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
  for (const std::string& one : environment) envp.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  in_ = to[1];
  out_ = from[0];
  if (failed != 0) throw std::runtime_error("posix_spawn");
}

Child::~Child() {
  if (pid_ > 0) kill();
  close_input();
  ::close(out_);
}

std::string Child::line() {
  std::string line;
  for (char c = 0; ::read(out_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

std::string Child::rest() {
  std::string text;
  char block[512];
  for (ssize_t n = 0; (n = ::read(out_, block, sizeof(block))) > 0;)
    text.append(block, static_cast<size_t>(n));
  return text;
}

void Child::close_input() {
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

void Child::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  wait();
}

int Child::wait() {
  if (pid_ > 0) ::waitpid(pid_, &status_, 0);
  pid_ = -1;
  return status_;
}

}  // namespace standin
