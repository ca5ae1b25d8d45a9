// owner_program WORKER [fork] [thread-exit]: a host that starts one worker, says on standard output who is
// there
// ("worker PID", "child PID"), and sleeps until it is killed. With "fork" it has a forked child that lives on
// with copies of all its descriptors; with "thread-exit" the thread that started the worker has ended.
// owner_program --find: says which worker executable would be started from where this program lies.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "worker/worker_handle.h"

int main(int argc, char** argv) {
  using namespace anelane;
  if (argc == 2 && std::strcmp(argv[1], "--find") == 0) {
    const Result<std::string> found = worker::find_worker_executable("");
    std::printf("%s", found.ok() ? found->c_str() : found.status().message().c_str());
    return found.ok() ? 0 : 1;
  }
  bool with_fork = false, with_thread = false;
  for (int i = 2; i < argc; ++i) {
    with_fork |= std::strcmp(argv[i], "fork") == 0;
    with_thread |= std::strcmp(argv[i], "thread-exit") == 0;
  }
  worker::LaunchOptions options;
  options.executable = argv[1];
  options.init.engine = "soft";
  if (const char* folder = ::getenv("OWNER_CACHE")) options.init.cache_dir = folder;
  Result<std::shared_ptr<worker::Arena>> arena = worker::Arena::create(1 << 20);
  if (!arena.ok()) return 1;
  options.arena = *arena;
  std::unique_ptr<worker::WorkerHandle> handle;
  const auto launch = [&] {
    Result<std::unique_ptr<worker::WorkerHandle>> launched = worker::launch_worker(options);
    if (launched.ok())
      handle = *std::move(launched);
    else
      std::fprintf(stderr, "%s\n", launched.status().message().c_str());
  };
  if (with_thread)
    std::thread(launch).join();
  else
    launch();
  if (!handle) return 1;
  std::printf("worker %d\n", static_cast<int>(handle->pid()));
  std::fflush(stdout);
  if (with_fork) {
    const pid_t child = ::fork();
    if (child == 0)
      for (;;) ::pause();
    std::printf("child %d\n", static_cast<int>(child));
  } else {
    std::printf("child 0\n");
  }
  std::fflush(stdout);
  // Bytes that nobody reads must not keep the worker alive either.
  worker::Frame ping{worker::FrameType::kPing, 1, {}};
  for (int i = 0; i < 20; ++i) (void)worker::send_frame(handle->stream_fd(), ping, 0);
  for (;;) ::pause();
}
