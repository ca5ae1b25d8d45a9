// The worker's side: a request loop that owns the engine, the model and its resident shapes. The same code
// runs in the worker process (tools/worker_main.cc) and on a thread of the host (thread mode).
#pragma once
#include <atomic>
#include <memory>

#include "base/file.h"
#include "base/status.h"
#include "worker/arena.h"

namespace anelane::worker {

struct LoopEnds {
  UniqueFd stream;
  UniqueFd control;
  UniqueFd arena;  // descriptor; mapped once INIT says its size
  UniqueFd owner;  // pidfd of the owner process; invalid in thread mode
};

// Serves until STOP or the end of the stream. In a process, the control thread ends the process as soon as
// the owner is gone, whatever the engine does at that moment.
Status run_worker_loop(LoopEnds ends, bool in_process);

}  // namespace anelane::worker
