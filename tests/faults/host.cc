// Everything that is looked for in the process itself comes from /proc, never from the library, so that it
// sees what the library forgot.
#include "host.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace faults {
namespace {

std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  if (DIR* dir = ::opendir(folder)) {
    while (const dirent* entry = ::readdir(dir))
      if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(dir)) names.push_back(entry->d_name);
    ::closedir(dir);
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Stat {
  char state = 0;
  int parent = 0;
};
// Of a process or thread, by its folder in /proc; zeros: gone.
Stat stat_of(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string line = text.str();
  const size_t after_name = line.rfind(')');
  Stat stat;
  if (after_name == std::string::npos ||
      std::sscanf(line.c_str() + after_name + 1, " %c %d", &stat.state, &stat.parent) != 2)
    return {};
  return stat;
}

void write_file(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  if (::chmod(path.c_str(), mode) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
}

}  // namespace

uint64_t in_ms(uint64_t ms) {
  return anelane_now_ns() + ms * 1'000'000;
}
uint64_t ms_since(uint64_t start_ns) {
  return (anelane_now_ns() - start_ns) / 1'000'000;
}

std::string text_of(const anelane_error& err) {
  char text[1024] = "";
  anelane_error_text(&err, text, sizeof text);
  return text;
}

LaneFolder::LaneFolder(const std::string& folder, const std::string& fault, Happens happens)
    : folder_(folder), worker_(folder + "/worker"), token_(folder + "/armed") {
  if (::mkdir(folder.c_str(), 0700) != 0) {
    std::perror(folder.c_str());
    std::exit(1);
  }
  std::string plan = fault;
  if (happens == Happens::kWhenArmed && !fault.empty()) plan += ":" + token_;
  write_file(worker_,
             "#!/bin/sh\nANELANE_WORKER_FAULT='" + plan + "' ANELANE_WORKER_RECORD='" + folder_ +
                 "/record' exec '" ANELANE_FAULTY_WORKER "' \"$@\"\n",
             0700);
}

std::vector<std::string> LaneFolder::record() const {
  std::vector<std::string> lines;
  std::ifstream file(folder_ + "/record");
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void LaneFolder::arm() const {
  write_file(token_, "", 0600);
}
void LaneFolder::disarm() const {
  ::unlink(token_.c_str());
}
bool LaneFolder::armed() const {
  return ::access(token_.c_str(), F_OK) == 0;
}

void count_end(void* started, anelane_op, anelane_status status) {
  auto* s = static_cast<Started*>(started);
  s->status = status;
  ++s->told;
}

anelane_lane_stats stats_of(anelane_lane lane) {
  anelane_lane_stats stats = {};
  stats.struct_size = sizeof stats;
  anelane_lane_get_stats(lane, &stats, nullptr);
  return stats;
}

pid_t worker_of(anelane_lane lane, const std::string& model) {
  size_t len = 0;
  std::string text(1 << 16, '\0');
  if (anelane_lane_describe(lane, text.data(), text.size(), &len, nullptr) != ANELANE_OK) return 0;
  text.resize(std::min(len, text.size()));
  const size_t at = text.find("\"name\":\"" + model + "\"");
  if (at == std::string::npos) return 0;
  const char* member = "\"worker_pid\":";
  const size_t pid = text.find(member, at), next = text.find("\"name\":", at + 1);
  return pid == std::string::npos || pid > next ? 0 : std::atoi(text.c_str() + pid + std::strlen(member));
}

size_t descriptors_of(pid_t pid) {
  return names_in(("/proc/" + std::to_string(pid) + "/fd").c_str()).size();
}

bool is_stopped(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  const std::vector<std::string> threads = names_in(folder.c_str());
  return !threads.empty() && std::all_of(threads.begin(), threads.end(), [&](const std::string& thread) {
    return stat_of(folder + '/' + thread).state == 'T';
  });
}

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  for (const std::string& name : names_in("/proc")) {
    const int pid = std::atoi(name.c_str());
    if (pid > 0 && stat_of("/proc/" + name).parent == ::getpid()) out.push_back(pid);
  }
  return out;
}

std::string inventory() {
  std::string text = "children";
  for (const pid_t pid : children()) text += ' ' + std::to_string(pid);
  text += "\nthreads " + std::to_string(names_in("/proc/self/task").size()) + "\ndescriptors";
  for (const std::string& name : names_in("/proc/self/fd")) {
    char target[512] = "";
    const std::string link = "/proc/self/fd/" + name;
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0) text += ' ' + name + '=' + target;
  }
  text += "\nshared memory";
  for (const std::string& name : names_in("/dev/shm"))
    if (name.find("anelane") != std::string::npos) text += ' ' + name;
  return text + '\n';
}

}  // namespace faults
