// Starting a worker as a process, up to the moment where frames can be exchanged.
#pragma once
#include <memory>

#include "worker/worker_handle.h"

namespace anelane::worker {

// Waits until `handle` says that the worker is gone, at most until deadline_ns.
bool wait_until_exited(WorkerHandle& handle, uint64_t deadline_ns);

Result<std::unique_ptr<WorkerHandle>> start_worker_process(const LaunchOptions& options,
                                                           uint64_t deadline_ns);
Result<std::unique_ptr<WorkerHandle>> start_worker_thread(const LaunchOptions& options);

}  // namespace anelane::worker
