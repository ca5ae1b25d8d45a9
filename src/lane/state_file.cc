// The file is replaced whole, so a reader sees one state or the next. It names its writer as the lock's
// record does, which is how a reader knows whether the one who holds the lane now has written it.
#include "lane/state_file.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "lane/crash_file.h"
#include "lane/describe.h"
#include "lane/lane.h"
#include "lane/lane_files.h"
#include "lane/lane_record.h"

namespace anelane {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
// What happens at the same time is told at once: a load brings several changes within a moment.
constexpr uint64_t kGatherNs = 10 * kNsPerMs;
constexpr size_t kDepth = 16;

}  // namespace

void StateFile::changed() {
  if (ended_ || timer_.second != 0) return;
  const uint64_t due = std::max(now_ns() + kGatherNs, last_ns_ + limits::kStateEveryMs * kNsPerMs);
  timer_ = lane_->loop().add_timer(due, [this] {
    timer_ = {};
    write();
  });
}

void StateFile::write() {
  const StdioGuard guard;
  last_ns_ = now_ns();
  const LaneRecord& writer = lane_->record();
  std::string lane = describe_lane(*lane_);
  // Thousands of models: better no state than a file that nobody reads.
  if (lane.size() > limits::kStateBytes) lane = "null";
  const std::string text = "{\"pid\":" + std::to_string(writer.pid) +
                           ",\"since_unix_ms\":" + std::to_string(writer.since_unix_ms) +
                           ",\"as_of_unix_ms\":" + std::to_string(unix_ms()) + ",\"lane\":" + lane + "}\n";
  const Status written = replace_lane_file(join_path(lane_->folder(), lane_files::kState), text);
  if (!written.ok() && !failed_)
    log_line(LogLevel::kWarn, "`anelane ps` will not see the state of this lane: " + written.message());
  failed_ = !written.ok();
}

void StateFile::end() {
  ended_ = true;
  lane_->loop().cancel_timer(&timer_);
  ::unlink(join_path(lane_->folder(), lane_files::kState).c_str());
}

Result<std::string> peek_lane(const std::string& folder) {
  ANELANE_ASSIGN(const LaneHolder holder, lane_holder(folder));
  Json out = Json::object().set("held", holder.held);
  Json who, as_of, lane;
  bool stale = false;
  if (holder.held) {
    who = Json::object()
              .set("pid", holder.pid)
              .set("program", holder.program)
              .set("since_unix_ms", holder.since_unix_ms)
              .set("alive", !holder.record_stale);
    const auto text = read_file(join_path(folder, lane_files::kState), 2 * limits::kStateBytes);
    Result<Json> state = text.ok() ? parse_json(*text, lane_files::kState, kDepth) : text.status();
    if (state.ok()) {
      stale = holder.record_stale || state->at("pid").as_int(0) != static_cast<int64_t>(holder.pid) ||
              state->at("since_unix_ms").as_int(0) != holder.since_unix_ms;
      as_of = state->at("as_of_unix_ms");
      lane = state->at("lane");
    }
  }
  out.set("holder", std::move(who)).set("stale", stale).set("as_of_unix_ms", std::move(as_of));
  return out.set("crash_loops", crash_loops_of(folder)).set("lane", std::move(lane)).dump();
}

}  // namespace anelane
