// Threads of the library take none of the host's asynchronous signals: the host's handlers run on the host's
// own threads. Signals that a fault of the thread itself raises (SEGV, BUS, FPE, ILL, ABRT, TRAP, SYS) and
// PROF stay.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/status.h"

namespace anelane {

// Blocks asynchronous signals of the calling thread for its lifetime; threads started meanwhile inherit it.
class QuietScope {
 public:
  QuietScope() {
    sigset_t quiet;
    sigfillset(&quiet);
    for (int loud : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
      sigdelset(&quiet, loud);
    pthread_sigmask(SIG_BLOCK, &quiet, &before_);
  }
  ~QuietScope() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  sigset_t before_;
};

// OUT_OF_MEMORY instead of an exception when the system has no thread to give.
template <class Fn>
Result<std::thread> start_quiet_thread(Fn&& fn) {
  QuietScope quiet;
  try {
    return std::thread(std::forward<Fn>(fn));
  } catch (const std::system_error& e) {
    return error(Code::kOutOfMemory, std::string("cannot start a thread: ") + e.what());
  }
}

}  // namespace anelane
