// owner_program WORKER [WORD …]: a host that starts one worker, says on standard output who is there ("worker
// PID", "child PID", "busy REQUEST"), and sleeps until it is killed. The words:
//   fork         has a forked child that lives on with copies of all its descriptors
//   thread-exit  the thread that started the worker has ended
//   lock         holds the lane in OWNER_LANE and hands the lock to the worker
//   admit        loads the model OWNER_MODEL and asks for shape 128, without waiting for the answer
// owner_program --find: says which worker executable would be started from where this program lies.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "lane/lane_lock.h"
#include "worker/worker_handle.h"

namespace {

using namespace anelane;
using worker::Frame;
using worker::FrameType;

constexpr uint64_t kMs = 1'000'000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

int find() {
  const Result<std::string> found = worker::find_worker_executable("");
  std::printf("%s", found.ok() ? found->c_str() : found.status().message().c_str());
  return found.ok() ? 0 : 1;
}

// Until the control thread says that the engine thread is at `request`.
bool wait_until_busy_with(worker::WorkerHandle& handle, uint64_t request) {
  worker::FrameReader reader;
  for (int i = 0; i < 5000; ++i) {
    if (!worker::send_frame(handle.control_fd(), {FrameType::kPing, 1, {}}, now_ns() + 1000 * kMs).ok())
      return false;
    const Result<Frame> pong = worker::receive_frame(handle.control_fd(), &reader, now_ns() + 5000 * kMs);
    if (!pong.ok()) return false;
    const Result<worker::PongBody> body = worker::parse_pong(pong->body);
    if (body.ok() && body->request == request && body->busy_ms >= 50) return true;
    ::usleep(2000);
  }
  return false;
}

bool start_admission(worker::WorkerHandle& handle) {
  worker::FrameReader reader;
  const worker::LoadBody load{variable("OWNER_MODEL"), "", {}};
  if (!worker::send_frame(handle.stream_fd(), {FrameType::kLoad, 1, to_json(load).dump()},
                          now_ns() + 1000 * kMs)
           .ok())
    return false;
  const Result<Frame> loaded = worker::receive_frame(handle.stream_fd(), &reader, now_ns() + 60'000 * kMs);
  if (!loaded.ok() || loaded->type != FrameType::kLoaded) return false;
  return worker::send_frame(handle.stream_fd(), {FrameType::kAdmit, 2, worker::shape_json(128).dump()},
                            now_ns() + 1000 * kMs)
      .ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--find") == 0) return find();
  const std::set<std::string> words(argv + 2, argv + argc);
  worker::LaunchOptions options;
  options.executable = argv[1];
  options.init.engine = "soft";
  options.init.cache_dir = variable("OWNER_CACHE");
  Result<std::shared_ptr<worker::Arena>> arena = worker::Arena::create(1 << 20);
  if (!arena.ok()) return 1;
  options.arena = *arena;
  LaneLock lock;
  if (words.count("lock") != 0) {
    Result<LaneLock> acquired = LaneLock::acquire(variable("OWNER_LANE"), 0);
    if (!acquired.ok()) return 1;
    lock = *std::move(acquired);
    options.lock_fd = lock.fd();
  }
  std::unique_ptr<worker::WorkerHandle> handle;
  const auto launch = [&] {
    Result<std::unique_ptr<worker::WorkerHandle>> launched = worker::launch_worker(options);
    if (launched.ok())
      handle = *std::move(launched);
    else
      std::fprintf(stderr, "%s\n", launched.status().message().c_str());
  };
  if (words.count("thread-exit") != 0)
    std::thread(launch).join();
  else
    launch();
  if (!handle) return 1;
  pid_t child = 0;
  if (words.count("fork") != 0) {
    child = ::fork();
    if (child == 0)
      for (;;) ::pause();
  }
  uint64_t busy = 0;
  if (words.count("admit") != 0) {
    if (!start_admission(*handle) || !wait_until_busy_with(*handle, 2)) return 1;
    busy = 2;
  }
  // Bytes that nobody reads must not keep the worker alive either.
  for (int i = 0; i < 20; ++i) (void)worker::send_frame(handle->stream_fd(), {FrameType::kPing, 1, {}}, 0);
  std::printf("worker %d\nchild %d\nbusy %d\n", static_cast<int>(handle->pid()), static_cast<int>(child),
              static_cast<int>(busy));
  std::fflush(stdout);
  for (;;) ::pause();
}
