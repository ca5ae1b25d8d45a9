// The counters are plain words that everybody adds to atomically. With knob `stats` they are a shared mapping
// of
// "<stats>.<pid>": no exit handler has to run. A process that was forked counts on in its own file from zero,
// since what its parent holds is not the child's.
#include "counters.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

#include "knobs.h"

namespace {

std::atomic<StandinCounters*> g_counters{nullptr};
std::mutex g_mutex;

StandinCounters* map_counters() {
  const std::string prefix = standin::knob("stats");
  int fd = -1;
  if (!prefix.empty()) {
    const std::string path = prefix + "." + std::to_string(::getpid());
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && ::ftruncate(fd, sizeof(StandinCounters)) != 0) {
      ::close(fd);
      fd = -1;
    }
  }
  void* at = ::mmap(nullptr, sizeof(StandinCounters), PROT_READ | PROT_WRITE,
                    fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
  if (fd >= 0) ::close(fd);
  static StandinCounters unmapped;
  auto* counters = at == MAP_FAILED ? &unmapped : static_cast<StandinCounters*>(at);
  counters->bytes = sizeof(StandinCounters);
  counters->pid = ::getpid();
  return counters;
}

}  // namespace

StandinCounters* standin_live_counters(void) {
  StandinCounters* counters = g_counters.load(std::memory_order_acquire);
  if (counters != nullptr) return counters;
  const std::lock_guard lock(g_mutex);
  counters = g_counters.load(std::memory_order_acquire);
  if (counters != nullptr) return counters;
  counters = map_counters();
  ::pthread_atfork(nullptr, nullptr, [] { g_counters.store(nullptr, std::memory_order_release); });
  g_counters.store(counters, std::memory_order_release);
  return counters;
}

void standin_counters(StandinCounters* out) {
  *out = *standin_live_counters();
}

bool standin_read_counters(const char* path, StandinCounters* out) {
  FILE* file = std::fopen(path, "rbe");
  if (file == nullptr) return false;
  const bool whole = std::fread(out, sizeof(*out), 1, file) == 1 && out->bytes == sizeof(*out);
  std::fclose(file);
  return whole;
}
