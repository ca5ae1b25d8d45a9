// Carries out what ANELANE_WORKER_FAULT says, and keeps the record that ANELANE_WORKER_RECORD asks for.
// Belongs to the engine thread. In thread mode the process that dies is the host: these tests are about
// worker processes.
#include "worker/fault_points.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "worker/frame_io.h"

namespace anelane::worker {
namespace {

constexpr useconds_t kLateUs = 400'000;
constexpr int kBadPlan = 9;
constexpr uint64_t kOtherLife = uint64_t{1} << 32;  // no life of a worker sees so many requests

struct Name {
  std::string_view name;
  FrameType type;
};
constexpr Name kPoints[] = {{"hello", FrameType::kHello},    {"load", FrameType::kLoaded},
                            {"admit", FrameType::kAdmitted}, {"progress", FrameType::kProgress},
                            {"evict", FrameType::kEvicted},  {"embed", FrameType::kEmbedded},
                            {"run", FrameType::kRan},        {"stop", FrameType::kStop}};
constexpr std::string_view kRefuse = "refuse";
constexpr std::string_view kFaults[] = {"die",         "late",           "stall",      "freeze",  "twice",
                                        "old_request", "old_generation", "half_frame", "garbage", "oversized",
                                        "lose",        "deaf",           kRefuse};

struct Plan {
  FrameType point;
  std::string fault;
  std::string file;  // "": the fault happens every time
};

// A test that asks for a fault which does not exist must not pass.
[[noreturn]] void refuse(std::string_view text) {
  log_line(LogLevel::kError, "ANELANE_WORKER_FAULT is not POINT:FAULT[:FILE]: " + std::string(text));
  ::_exit(kBadPlan);
}

std::optional<Plan> read_plan() {
  const char* given = std::getenv("ANELANE_WORKER_FAULT");
  if (given == nullptr || *given == '\0') return std::nullopt;
  const std::string_view text = given;
  const size_t first = text.find(':');
  if (first == std::string_view::npos) refuse(text);
  const size_t second = std::min(text.find(':', first + 1), text.size());
  const std::string_view fault = text.substr(first + 1, second - first - 1);
  const auto* point = std::find_if(std::begin(kPoints), std::end(kPoints),
                                   [&](const Name& p) { return p.name == text.substr(0, first); });
  if (point == std::end(kPoints) ||
      std::find(std::begin(kFaults), std::end(kFaults), fault) == std::end(kFaults))
    refuse(text);
  return Plan{point->type, std::string(fault), std::string(text.substr(std::min(second + 1, text.size())))};
}

// The fault that happens here and now; "": none.
std::string fault_at(FrameType point) {
  static const std::optional<Plan> plan = read_plan();
  if (!plan || plan->point != point) return {};
  if (plan->file.empty()) return plan->fault;
  const char* file = plan->file.c_str();
  const bool happens = plan->fault == kRefuse ? ::access(file, F_OK) == 0 : ::unlink(file) == 0;
  return happens ? plan->fault : std::string();
}

void record(const char* way, const Frame& frame) {
  static const char* const path = std::getenv("ANELANE_WORKER_RECORD");
  if (path == nullptr) return;
  static const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::string line = std::string(way) + ' ' + std::to_string(static_cast<int>(frame.type)) + ' ' +
                     std::to_string(frame.request) + ' ' + std::to_string(encode_frame(frame).size());
  if (frame.type == FrameType::kLoad) line += ' ' + frame.body;
  line += '\n';
  if (::write(file, line.data(), line.size()) < 0) ::_exit(kBadPlan);
}

[[noreturn]] void stall() {
  for (;;) ::pause();
}

void send_bytes(int stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(stream, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody listens: the fault has no effect
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

Frame of_another_life(Frame reply) {
  if (reply.type == FrameType::kHello) {
    Result<HelloBody> hello = parse_hello(reply.body);
    if (!hello.ok()) return reply;
    hello->nonce = "00112233445566778899aabbccddeeff";
    reply.body = to_json(*hello).dump();
    return reply;
  }
  reply.request += kOtherLife;
  return reply;
}

// What every point has in common. True: it is done with, and nothing else is to be sent.
bool carry_out(int stream, const std::string& fault, const Frame& reply) {
  if (fault == "die") ::raise(SIGKILL);
  if (fault == "stall") stall();
  if (fault == "freeze") ::raise(SIGSTOP);
  if (fault == "late") ::usleep(kLateUs);
  if (fault == "deaf") ::shutdown(stream, SHUT_RD);
  if (fault == "lose") return true;
  if (fault == "garbage") {
    send_bytes(stream, "HTTP/1.1 500 Internal Server Error\r\n\r\n");
    return true;
  }
  if (fault == "oversized") {
    send_bytes(stream, std::string_view("\xff\xff\xff\x7f\x02", 5));
    return true;
  }
  if (fault == "half_frame") {
    const std::string wire = encode_frame(reply);
    send_bytes(stream, std::string_view(wire).substr(0, wire.size() / 2));
    stall();
  }
  return false;
}

}  // namespace

Status send_at_fault_point(int stream, const Frame& reply) {
  record("out", reply);
  const std::string fault = fault_at(reply.type);
  if (carry_out(stream, fault, reply)) return {};
  Frame sent = reply;
  if (fault == "old_request") --sent.request;
  if (fault == "old_generation") sent = of_another_life(sent);
  if (fault == kRefuse)
    sent = {FrameType::kFailed, reply.request,
            to_json(error(Code::kResourcesExhausted, "told to refuse")).dump()};
  if (fault == "twice") send_bytes(stream, encode_frame(sent));
  return send_frame(stream, sent, kNoDeadline);
}

void record_at_fault_point(const Frame& request) {
  record("in", request);
}

void end_at_fault_point(int stream) {
  const std::string fault = fault_at(kAtStop);
  if (fault.empty()) return;
  const Frame last{FrameType::kRan, 1, {}};
  if (carry_out(stream, fault, last)) return;
  if (fault == "late" || fault == "deaf" || fault == kRefuse) return;
  send_bytes(stream, encode_frame(last));
}

}  // namespace anelane::worker
