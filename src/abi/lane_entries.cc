// Entry points of the lane itself.
#include <algorithm>

#include "abi/entry.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "lane/describe.h"
#include "lane/lane_lock.h"
#include "lane/state_file.h"
#include "scheduler/replay.h"

using namespace anelane;
using namespace anelane::abi;

namespace {

constexpr size_t kLaneOptionsV1 = offsetof(anelane_lane_options, reserved);

anelane_lane_options default_options() {
  const LaneOptions d;
  anelane_lane_options o{};
  o.struct_size = sizeof o;
  o.engine = ANELANE_ENGINE_AUTO;
  o.worker_mode = ANELANE_WORKER_PROCESS;
  o.executable_budget = d.executable_budget;
  o.shapes_per_model = d.shapes_per_model;
  o.shapes_total = d.shapes_total;
  o.max_waiting = d.max_waiting;
  o.settle_ms = d.settle_ms;
  o.handoff_ms = d.handoff_ms;
  o.lease_max_ms = d.lease_max_ms;
  o.soft_threads = d.soft_threads;
  o.admission_bound_ms = d.admission_bound_ms;
  o.drain_ms = d.drain_ms;
  return o;
}

Status check_number(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return {};
  return error(Code::kInvalidArgument, std::string(name) + " is " + std::to_string(value) +
                                           "; it must lie in " + std::to_string(least) + " … " +
                                           std::to_string(most))
      .with_limit(value < least ? least : most);
}

std::string text_or_empty(const char* s) {
  return s != nullptr ? s : "";
}

Result<LaneOptions> read_options(const anelane_lane_options* from) {
  anelane_lane_options o = default_options();
  if (from != nullptr) {
    ANELANE_TRY(check_struct(from, "options", kLaneOptionsV1));
    o = read_struct(from, o);
  }
  constexpr uint64_t kDayMs = 86'400'000;
  if (o.engine < ANELANE_ENGINE_AUTO || o.engine > ANELANE_ENGINE_SOFT)
    return error(Code::kInvalidArgument, "engine is one of ANELANE_ENGINE_AUTO, _APPLE, _SOFT");
  if (o.worker_mode != ANELANE_WORKER_PROCESS && o.worker_mode != ANELANE_WORKER_THREAD)
    return error(Code::kInvalidArgument, "worker_mode is ANELANE_WORKER_PROCESS or ANELANE_WORKER_THREAD");
  constexpr uint32_t kRoutes = ANELANE_LANE_APPLE_IN_MEMORY | ANELANE_LANE_APPLE_CLIENT;
  constexpr uint32_t kDialects = ANELANE_LANE_MIL_IOS18 | ANELANE_LANE_MIL_IOS16;
  if ((o.flags & ~(ANELANE_LANE_PREWARM | kRoutes | kDialects)) != 0)
    return error(Code::kInvalidArgument, "flags has bits that this version does not know");
  if ((o.flags & kRoutes) == kRoutes || (o.flags & kDialects) == kDialects)
    return error(Code::kInvalidArgument,
                 "flags has both routes, or both dialects, of the Neural Engine: one of each at most");
  for (const uint64_t r : o.reserved)
    if (r != 0)
      return error(Code::kInvalidArgument, "reserved members must be 0; use anelane_lane_options_init");
  ANELANE_TRY(check_number("executable_budget", o.executable_budget, 1, 100'000));
  ANELANE_TRY(check_number("shapes_per_model", o.shapes_per_model, 1, limits::kMaxRungs));
  ANELANE_TRY(check_number("shapes_total", o.shapes_total, 1, 4096));
  ANELANE_TRY(check_number("max_waiting", o.max_waiting, 1, 10'000'000));
  ANELANE_TRY(check_number("settle_ms", o.settle_ms, 0, 60'000));
  ANELANE_TRY(check_number("handoff_ms", o.handoff_ms, 0, 60'000));
  ANELANE_TRY(check_number("lease_max_ms", o.lease_max_ms, 1, kDayMs));
  ANELANE_TRY(check_number("soft_threads", o.soft_threads, 0, 256));
  ANELANE_TRY(check_number("admission_bound_ms", o.admission_bound_ms, 1, kDayMs));
  ANELANE_TRY(check_number("drain_ms", o.drain_ms, 0, kDayMs));
  LaneOptions to;
  to.engine = static_cast<EngineChoice>(o.engine);
  to.thread_mode = o.worker_mode == ANELANE_WORKER_THREAD;
  to.prewarm = (o.flags & ANELANE_LANE_PREWARM) != 0;
  to.apple_route = (o.flags & ANELANE_LANE_APPLE_IN_MEMORY) != 0 ? "in-memory"
                   : (o.flags & ANELANE_LANE_APPLE_CLIENT) != 0  ? "client"
                                                                 : "";
  to.mil_dialect = (o.flags & ANELANE_LANE_MIL_IOS18) != 0   ? "ios18"
                   : (o.flags & ANELANE_LANE_MIL_IOS16) != 0 ? "ios16"
                                                             : "";
  to.executable_budget = o.executable_budget;
  to.shapes_per_model = o.shapes_per_model;
  to.shapes_total = o.shapes_total;
  to.max_waiting = o.max_waiting;
  to.settle_ms = o.settle_ms;
  to.handoff_ms = o.handoff_ms;
  to.lease_max_ms = o.lease_max_ms;
  to.soft_threads = o.soft_threads;
  to.admission_bound_ms = o.admission_bound_ms;
  to.drain_ms = o.drain_ms;
  to.lock_dir = text_or_empty(o.lock_dir);
  to.cache_dir = text_or_empty(o.cache_dir);
  to.temp_dir = text_or_empty(o.temp_dir);
  to.worker_path = text_or_empty(o.worker_path);
  to.record_path = text_or_empty(o.record_path);
  for (const auto& [name, value] :
       {std::pair{"lock_dir", &to.lock_dir}, std::pair{"cache_dir", &to.cache_dir},
        std::pair{"temp_dir", &to.temp_dir}, std::pair{"worker_path", &to.worker_path},
        std::pair{"record_path", &to.record_path}})
    if (!value->empty() && value->front() != '/')
      return error(Code::kInvalidArgument,
                   std::string(name) + " is \"" + *value + "\"; an absolute path is needed");
  return to;
}

anelane_lane_stats make_stats(Lane& lane) {
  const sched::Snapshot s = lane.driver().snapshot();
  anelane_lane_stats out{};
  out.budget = s.budget;
  out.reserved_programs = s.charged;
  out.resident = s.resident;
  out.leased = s.leased;
  out.waiting = s.waiting;
  out.models = static_cast<uint32_t>(lane.driver().model_count());
  if (s.compiling_worker != 0) {
    out.compiling_shape = s.compiling_shape;
    out.compiling_ms = static_cast<uint64_t>(std::max<sched::Time>(s.compiling_for, 0)) / 1000;
    out.compiling_predicted_ms =
        static_cast<uint64_t>(std::max<sched::Time>(s.compiling_predicted, 0)) / 1000;
    if (const auto model = lane.driver().find_model(s.compiling_worker))
      copy_text(out.compiling_model, model->name);
  }
  out.admitted = s.admitted;
  out.loaded = s.loaded;
  out.compiled = s.compiled;
  out.evicted = s.evicted;
  out.refused = s.refused;
  out.restarts = s.restarts;
  out.answered = s.answered;
  out.cancelled = s.cancelled;
  return out;
}

// "Only the lane's own bounds" holds for a busy lane too.
uint64_t bounded(uint64_t deadline, const LaneOptions& options) {
  return deadline != ANELANE_NO_DEADLINE ? deadline : now_ns() + options.admission_bound_ms * 1'000'000;
}

}  // namespace

extern "C" {

ANELANE_API void anelane_lane_options_init(anelane_lane_options* options, size_t size) {
  if (options == nullptr) return;
  std::memset(static_cast<void*>(options), 0, size);
  const anelane_lane_options defaults = default_options();
  std::memcpy(static_cast<void*>(options), &defaults, std::min(size, sizeof defaults));
  if (size >= sizeof(uint32_t)) options->struct_size = static_cast<uint32_t>(size);
}

ANELANE_API anelane_status anelane_lane_open(const anelane_lane_options* options, uint64_t deadline,
                                             anelane_lane* out, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_may_block());
    ANELANE_ASSIGN(const LaneOptions wanted, read_options(options));
    tables().lane_was_opened.store(true);
    ANELANE_ASSIGN(std::shared_ptr<Lane> lane, Lane::open(wanted, bounded(deadline, wanted)));
    const uint64_t bits = tables().lanes.insert(std::make_shared<OpenLane>(OpenLane{lane}));
    if (bits == 0) {
      (void)lane->close(0);
      return error(Code::kResourcesExhausted, "too many open lanes; close some");
    }
    out->bits = bits;
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_close(anelane_lane handle, uint64_t deadline, anelane_error* err) {
  return entry(err, [&]() -> Status {
    ANELANE_TRY(check_may_block());
    const auto open = tables().lanes.remove(handle.bits);
    if (!open) return error(Code::kBadHandle, "this is no open lane; it may have been closed before");
    return open->lane->close(deadline);
  });
}

ANELANE_API anelane_status anelane_lane_get_stats(anelane_lane handle, anelane_lane_stats* out,
                                                  anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_struct(out, "out", sizeof(uint32_t)));
    ANELANE_ASSIGN(const std::shared_ptr<Lane> lane, find_lane(handle));
    anelane_lane_stats stats{};
    ANELANE_TRY(lane->on_lane_thread([&] { stats = make_stats(*lane); }));
    write_struct(out, stats);
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_describe(anelane_lane handle, char* buf, size_t cap, size_t* len,
                                                 anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (buf == nullptr && cap > 0) return null_argument("buf");
    ANELANE_ASSIGN(const std::shared_ptr<Lane> lane, find_lane(handle));
    std::string text;
    ANELANE_TRY(lane->on_lane_thread([&] { text = describe_lane(*lane); }));
    give_text(text, buf, cap, len);
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_holder(const char* lock_dir, anelane_holder* out,
                                               anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_TRY(check_struct(out, "out", sizeof(uint32_t)));
    ANELANE_ASSIGN(const std::string folder, find_lane_folder(lock_dir != nullptr ? lock_dir : ""));
    ANELANE_ASSIGN(const LaneHolder holder, lane_holder(folder));
    anelane_holder to{};
    to.held = holder.held ? 1 : 0;
    to.pid = holder.pid;
    to.record_stale = holder.record_stale ? 1 : 0;
    to.since_unix_ms = holder.since_unix_ms;
    copy_text(to.program, holder.program);
    write_struct(out, to);
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_peek(const char* lock_dir, char* buf, size_t cap, size_t* len,
                                             anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (buf == nullptr && cap > 0) return null_argument("buf");
    ANELANE_ASSIGN(const std::string folder, find_lane_folder(lock_dir != nullptr ? lock_dir : ""));
    ANELANE_ASSIGN(const std::string text, peek_lane(folder));
    give_text(text, buf, cap, len);
    return {};
  });
}

ANELANE_API anelane_status anelane_replay(const char* path, uint64_t* steps, char* buf, size_t cap,
                                          size_t* len, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (path == nullptr) return null_argument("path");
    if (buf == nullptr && cap > 0) return null_argument("buf");
    ANELANE_ASSIGN(const std::string text, read_file(path, limits::kHistoryBytes));
    ANELANE_ASSIGN(const sched::Replay replay, sched::replay_history(text, path));
    if (steps != nullptr) *steps = replay.steps;
    give_text(replay.difference, buf, cap, len);
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_event_fd(anelane_lane handle, int* fd, anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (fd == nullptr) return null_argument("fd");
    ANELANE_ASSIGN(const std::shared_ptr<Lane> lane, find_lane(handle));
    *fd = lane->completions().event_fd();
    return {};
  });
}

ANELANE_API anelane_status anelane_lane_next_completion(anelane_lane handle, anelane_op* out, void** user,
                                                        anelane_error* err) {
  return entry(err, [&]() -> Status {
    if (out == nullptr) return null_argument("out");
    ANELANE_ASSIGN(const std::shared_ptr<Lane> lane, find_lane(handle));
    const std::shared_ptr<Operation> op = lane->completions().take();
    if (!op) return error(Code::kPending, "no operation has ended");
    out->bits = op->bits();
    if (user != nullptr) *user = op->user();
    return {};
  });
}

}  // extern "C"
