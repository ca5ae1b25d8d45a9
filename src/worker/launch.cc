// launch_worker: start it, say INIT, believe HELLO only when version, nonce and build are right.
//
// On any failure the worker is ended by force and its end confirmed before the error goes out, and the error
// quotes the last lines that it wrote: they are the only witness of, say, a missing shared library.
// Every wait ends at the deadline; confirming the end of a killed process has kExitAskMs more.
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "worker/frame_io.h"
#include "worker/worker_handle.h"
#include "worker/worker_process.h"

namespace anelane::worker {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kAbortLookMs = 20;  // how soon an unwanted launch gives up
constexpr uint64_t kLastBreathMs = 200;
constexpr size_t kQuotedBytes = 600;
constexpr uint64_t kInitRequest = 0;

Result<std::string> make_nonce() {
  std::array<uint8_t, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    return error(Code::kIo, "cannot draw a nonce: " + errno_text(errno));
  std::string text;
  for (const uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// The end of what the worker wrote to its log pipe, as one line.
std::string last_words(int log_fd) {
  std::string text;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t n = log_fd < 0 ? 0 : ::read(log_fd, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<size_t>(n));
    if (text.size() > 2 * kQuotedBytes) text.erase(0, text.size() - kQuotedBytes);
  }
  if (text.size() > kQuotedBytes) text.erase(0, text.size() - kQuotedBytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', '|');
  return text;
}

Status check_hello(const HelloBody& hello, const InitBody& init, const std::string& who) {
  if (hello.nonce != init.nonce)
    return error(Code::kProtocol, who + " answers for somebody else (its nonce is not ours)");
  if (hello.version != limits::kProtocolVersion || hello.build != init.build)
    return error(Code::kProtocol, who + " is of build " + hello.build + " (protocol " +
                                      std::to_string(hello.version) + "), this library of build " +
                                      init.build + " (protocol " + std::to_string(limits::kProtocolVersion) +
                                      "): install both from the same build")
        .with_class(false)
        .with_safe_to_retry(false)
        .with_retry_after(0);
  return {};
}

// Waits for a frame or for the end of the worker, whichever is first. A copy of the worker's end of the
// stream in a forked child of the host would keep the stream open: the exit handle is what tells.
Result<Frame> receive_or_exit(WorkerHandle& worker, FrameReader* reader, uint64_t deadline_ns,
                              const std::atomic<bool>* abort) {
  for (;;) {
    std::array<pollfd, 2> entries{{{worker.stream_fd(), POLLIN, 0}, {worker.exit_fd(), POLLIN, 0}}};
    if (abort != nullptr && abort->load())
      return error(Code::kCancelled, "the worker is not wanted any more");
    const uint64_t next_look_ns = abort == nullptr ? deadline_ns : now_ns() + kAbortLookMs * kNsPerMs;
    const int n =
        ::poll(entries.data(), entries.size(), poll_timeout_ms(std::min(deadline_ns, next_look_ns)));
    if (n < 0 && errno != EINTR) return error(Code::kIo, "cannot wait for the worker: " + errno_text(errno));
    if (n > 0 && entries[0].revents != 0) {
      Result<Frame> frame = receive_frame(worker.stream_fd(), reader, now_ns());
      if (frame.ok() || frame.status().code() != Code::kDeadlineExceeded) return frame;
    } else if (n > 0 && entries[1].revents != 0) {
      return error(Code::kEngineCrashed, "the worker has ended");
    }
    if (now_ns() >= deadline_ns) return error(Code::kDeadlineExceeded, "no answer in time");
  }
}

// *explained: the error is the worker's own word, and complete.
Result<HelloBody> exchange_hello(WorkerHandle& worker, const InitBody& init, const std::string& who,
                                 uint64_t deadline_ns, const std::atomic<bool>* abort, bool* explained) {
  ANELANE_TRY(
      send_frame(worker.stream_fd(), {FrameType::kInit, kInitRequest, to_json(init).dump()}, deadline_ns));
  FrameReader reader;
  ANELANE_ASSIGN(const Frame frame, receive_or_exit(worker, &reader, deadline_ns, abort));
  if (frame.type == FrameType::kFailed) {
    Status failed;
    ANELANE_TRY(parse_failed(frame.body, &failed));
    *explained = true;
    return failed;
  }
  if (frame.type != FrameType::kHello || frame.request != kInitRequest || !reader.empty())
    return error(Code::kProtocol, who + " did not answer INIT with HELLO");
  ANELANE_ASSIGN(HelloBody hello, parse_hello(frame.body));
  ANELANE_TRY(check_hello(hello, init, who));
  return hello;
}

// By force; true once that is confirmed.
bool end_worker(WorkerHandle& worker) {
  worker.kill();
  worker.close_streams();
  return wait_until_exited(worker, now_ns() + limits::kExitAskMs * kNsPerMs);
}

// Ends the worker and puts what is known about its end into the error.
Status give_up(WorkerHandle& worker, Status why, const std::string& who, uint64_t timeout_ms) {
  // One that has closed its stream is about to end by itself: let it, to learn how.
  if (why.code() == Code::kEngineCrashed) wait_until_exited(worker, now_ns() + kLastBreathMs * kNsPerMs);
  const bool by_itself = worker.exited();
  // A program that leaves at once will do so again: it is none of ours, or lacks something here.
  const bool leaves = by_itself && worker.exit_code().has_value();
  const bool gone = end_worker(worker);
  const std::string words = last_words(worker.log_fd());
  std::string message = why.message();
  if (why.code() == Code::kEngineCrashed) {
    message = who + " " + (by_itself ? worker.how_it_ended() : "closed its stream") + " before its HELLO";
    if (leaves) {
      message +=
          "; is it the anelane-worker of this build? Run it with --version, or name another in "
          "worker_path or ANELANE_WORKER";
      why = error(Code::kEngineUnavailable, "");
    } else {
      message += "; if that happens again, run it with --version";
    }
  }
  if (why.code() == Code::kDeadlineExceeded) {
    message = who + " did not say HELLO within " + std::to_string(timeout_ms) +
              " ms: the machine is overloaded, or it is no anelane-worker";
    why = error(Code::kEngineCrashed, "");
  }
  if (!gone) message += "; it could not be ended";
  if (!words.empty()) message += "; it wrote: " + words;
  const ErrorDetail& detail = why.detail();
  return error(why.code(), message)
      .with_class(detail.transient)
      .with_safe_to_retry(detail.safe_to_retry)
      .with_retry_after(detail.retry_after_ms)
      .with_limit(detail.limit);
}

}  // namespace

WorkerHandle::WorkerHandle() : owner_pid_(::getpid()) {}
WorkerHandle::~WorkerHandle() = default;
bool WorkerHandle::is_owner() const {
  return ::getpid() == owner_pid_;
}

// A forked child of the host may hold copies that keep the connections open: closing alone would not be seen.
void WorkerHandle::shut_streams() {
  if (!is_owner()) return;
  for (const fork_guard::Fd* end : {&stream_, &control_})
    if (end->valid()) ::shutdown(end->get(), SHUT_RDWR);
}

void WorkerHandle::close_streams() {
  shut_streams();
  stream_.reset();
  control_.reset();
}

Result<std::unique_ptr<WorkerHandle>> launch_worker(const LaunchOptions& options) {
  const uint64_t deadline_ns = now_ns() + options.timeout_ms * kNsPerMs;
  InitBody init = options.init;
  init.version = limits::kProtocolVersion;
  init.build = build_id();
  init.in_host = options.thread_mode;
  init.arena_bytes = options.arena ? options.arena->size() : 0;
  ANELANE_ASSIGN(init.nonce, make_nonce());
  std::string who = "the worker ";
  who += options.thread_mode ? "thread" : options.executable;
  ANELANE_ASSIGN(auto worker, options.thread_mode ? start_worker_thread(options)
                                                  : start_worker_process(options, deadline_ns));
  bool explained = false;
  Result<HelloBody> hello = exchange_hello(*worker, init, who, deadline_ns, options.abort, &explained);
  if (explained) {
    end_worker(*worker);
    return hello.status();
  }
  if (!hello.ok()) return give_up(*worker, hello.status(), who, options.timeout_ms);
  worker->hello_ = *std::move(hello);
  return worker;
}

}  // namespace anelane::worker
