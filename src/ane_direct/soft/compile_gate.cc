// An flock on <cache_dir>/compile.lock. The kernel drops it with the last descriptor, so a crashed compiler
// never keeps the gate shut. Waiting polls, from one to twenty milliseconds apart, because a blocking flock
// has no time limit and a compile takes far longer than the delay. The file is never removed: a waiter could
// otherwise lock a file that no longer has a name.
#include "ane_direct/soft/compile_gate.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/log.h"

namespace anelane::soft {
namespace {

constexpr int64_t kFirstDelayUs = 1000;
constexpr int64_t kLastDelayUs = 20'000;

void sleep_us(int64_t us) {
  timespec left{static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000 * 1000)};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

CompileGate::CompileGate(const std::string& cache_dir) : path_(join_path(cache_dir, "compile.lock")) {}

Result<CompileGate::Ticket> CompileGate::enter(uint64_t wait_ms) const {
  UniqueFd lock = above_stdio(
      UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)));
  if (!lock) {
    log_line(LogLevel::kWarn,
             io_error("open", path_, errno).message() + "; compiles of other processes are not waited for");
    return Ticket();
  }
  const uint64_t end = now_ns() + wait_ms * 1'000'000;
  for (int64_t delay = kFirstDelayUs;; delay = std::min(2 * delay, kLastDelayUs)) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return Ticket(std::move(lock));
    if (errno != EWOULDBLOCK && errno != EINTR) {
      log_line(LogLevel::kWarn,
               io_error("lock", path_, errno).message() + "; compiles of other processes are not waited for");
      return Ticket();
    }
    if (now_ns() >= end)
      return error(Code::kResourcesExhausted, "the compiler is busy: another process has held " + path_ +
                                                  " for " + std::to_string(wait_ms) + " ms");
    sleep_us(delay);
  }
}

}  // namespace anelane::soft
