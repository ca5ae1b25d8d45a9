// Knobs: a map of overrides, the control file as it was when it last changed, and the environment. The calls
// that fail_…, kill_… and raise count are counted from the moment at which the knob got its present value, so
// that a test can say "the second from now". One mutex guards everything; nothing is held while the caller
// sleeps or dies.
#include "knobs.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "standin.h"

namespace standin {
namespace {

struct Counted {
  std::string value;
  long calls = 0;
};

struct Knobs {
  std::mutex mutex;
  std::map<std::string, std::string> overrides, file;
  struct stat seen {};
  std::map<std::string, Counted> counted;
};

// Never destroyed: counted by threads that outlive main.
Knobs& knobs() {
  static Knobs* const all = new Knobs;
  return *all;
}

void read_control_file(Knobs* all) {
  const char* path = std::getenv("ANE_STANDIN_CONTROL");
  struct stat now {};
  if (path == nullptr || ::stat(path, &now) != 0) {
    all->file.clear();
    all->seen = {};
    return;
  }
  if (now.st_ino == all->seen.st_ino && now.st_size == all->seen.st_size &&
      now.st_mtim.tv_sec == all->seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == all->seen.st_mtim.tv_nsec)
    return;
  all->seen = now;
  all->file.clear();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (const size_t at = line.find('='); at != std::string::npos)
      all->file[line.substr(0, at)] = line.substr(at + 1);
}

std::optional<std::string> find(Knobs* all, const std::string& name) {
  if (const auto it = all->overrides.find(name); it != all->overrides.end()) return it->second;
  read_control_file(all);
  if (const auto it = all->file.find(name); it != all->file.end()) return it->second;
  std::string variable = "ANE_STANDIN_";
  for (const char c : name) variable += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (const char* value = std::getenv(variable.c_str()); value != nullptr) return std::string(value);
  return std::nullopt;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "3", "3+" or "*" against the number of this call.
bool is_call(const std::string& wanted, long call) {
  if (wanted == "*") return true;
  const long number = std::atol(wanted.c_str());
  return wanted.back() == '+' ? call >= number : call == number;
}

// The present value and the number of this call of `counter` since it has it; nothing when it is not set.
std::optional<std::pair<std::string, long>> count_call(const std::string& name, const std::string& counter) {
  Knobs& all = knobs();
  const std::lock_guard lock(all.mutex);
  const std::optional<std::string> value = find(&all, name);
  if (!value || value->empty()) {
    all.counted.erase(counter);
    return std::nullopt;
  }
  Counted& counted = all.counted[counter];
  if (counted.value != *value) counted = {*value, 0};
  return std::pair{*value, ++counted.calls};
}

void copy_text(char* out, size_t room, const std::string& text) {
  if (room == 0) return;
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(out, text.data(), n);
  out[n] = 0;
}

std::string whole_domain(const std::string& name) {
  const std::string base = "com.apple.appleneuralengine";
  if (name == "ane") return base;
  return name == "compiler" || name == "espresso" ? base + "." + name : name;
}

}  // namespace

std::string knob(const char* name, const std::string& otherwise) {
  Knobs& all = knobs();
  const std::lock_guard lock(all.mutex);
  return find(&all, name).value_or(otherwise);
}

}  // namespace standin

using namespace standin;

void standin_set(const char* name, const char* value) {
  Knobs& all = knobs();
  const std::lock_guard lock(all.mutex);
  if (value == nullptr)
    all.overrides.erase(name);
  else
    all.overrides[name] = value;
  // Setting the same value again begins a new count as well.
  for (auto it = all.counted.begin(); it != all.counted.end();)
    it = it->first.starts_with(name) ? all.counted.erase(it) : std::next(it);
}

bool standin_knob(const char* name, char* out, size_t room) {
  Knobs& all = knobs();
  const std::lock_guard lock(all.mutex);
  const std::optional<std::string> value = find(&all, name);
  copy_text(out, room, value.value_or(""));
  return value.has_value();
}

long standin_knob_number(const char* name, long otherwise) {
  const std::string value = knob(name);
  return value.empty() ? otherwise : std::atol(value.c_str());
}

bool standin_knob_lists(const char* name, const char* item) {
  for (const std::string& one : split(knob(name), ','))
    if (one == item) return true;
  return false;
}

int standin_system(void) {
  return standin_knob_number("system", 27) >= 27 ? 27 : 26;
}

bool standin_fault(const char* name, StandinFault* out) {
  *out = {};
  const auto call = count_call(name, name);
  if (!call) return false;
  for (const std::string& one : split(call->first, ';')) {
    const size_t at = std::min(one.find(':'), one.size());
    if (at == 0 || !is_call(one.substr(0, at), call->second)) continue;
    const std::string rest = at < one.size() ? one.substr(at + 1) : "";
    const size_t second = rest.find(':'),
                 third = second == std::string::npos ? second : rest.find(':', second + 1);
    if (third == std::string::npos) {
      out->nil_error = true;
      return true;
    }
    copy_text(out->domain, sizeof(out->domain), whole_domain(rest.substr(0, second)));
    out->code = std::atol(rest.substr(second + 1, third - second - 1).c_str());
    copy_text(out->text, sizeof(out->text), rest.substr(third + 1));
    return true;
  }
  return false;
}

void standin_stall(const char* what) {
  const long stall_ms = standin_knob_number(("stall_" + std::string(what) + "_ms").c_str(), 0);
  if (stall_ms > 0) {
    const timespec pause{stall_ms / 1000, stall_ms % 1000 * 1000000};
    ::nanosleep(&pause, nullptr);
  }
  StandinFault fault;
  if (standin_fault(("kill_" + std::string(what)).c_str(), &fault)) ::kill(::getpid(), SIGKILL);
}

bool standin_raises(const char* selector) {
  const auto call = count_call("raise", "raise " + std::string(selector));
  if (!call) return false;
  for (const std::string& one : split(call->first, ',')) {
    const size_t at = one.find('@');
    if (at == std::string::npos ? one == selector
                                : one.substr(at + 1) == selector && is_call(one.substr(0, at), call->second))
      return true;
  }
  return false;
}
