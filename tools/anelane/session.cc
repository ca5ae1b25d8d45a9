// Opens the lane as the flags ask, loads a model, and gives the lane back whatever happens in between: a tool
// that ends early must not leave a worker for the next caller to wait for. The library closes in bounded time
// (kCloseMs and a second). One thread; the log hook comes from the library's threads and only touches the
// progress line.
#include "session.h"

#include <filesystem>

#include "report.h"

namespace anelane_tool {
namespace {

constexpr uint64_t kCloseMs = 5'000;

void on_log(void* user, anelane_log_level, const char* text) {
  static_cast<ProgressLine*>(user)->print_above(text);
}

const char* or_default(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

LaneFlags with_absolute_folders(LaneFlags flags) {
  for (std::string* folder : {&flags.lock_dir, &flags.cache_dir, &flags.temp_dir, &flags.record_path})
    *folder = absolute_folder(*folder);
  return flags;
}

}  // namespace

// The library takes absolute folders only: a host's current folder may change. A command line's does not.
std::string absolute_folder(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return path.empty() || failed ? path : whole.string();
}

uint64_t deadline_after_ms(uint64_t ms) {
  constexpr uint64_t kNanosOfMilli = 1'000'000;
  const uint64_t now = anelane_now_ns();
  return ms < (ANELANE_NO_DEADLINE - now) / kNanosOfMilli ? now + ms * kNanosOfMilli : ANELANE_NO_DEADLINE;
}

const char* engine_name(anelane_engine engine) {
  switch (engine) {
    case ANELANE_ENGINE_APPLE:
      return "apple";
    case ANELANE_ENGINE_SOFT:
      return "soft";
    default:
      return "auto";
  }
}

Session::Session(const LaneFlags& flags, ProgressLine* line)
    : flags_(with_absolute_folders(flags)), line_(line) {
  // Refused once a lane is open, which is no harm: then the hook stands already.
  if (flags_.stats) anelane_set_log(on_log, line_, ANELANE_LOG_INFO);
}

Session::~Session() {
  anelane_error ignored = new_error();
  close(&ignored);
}

void Session::say_who_holds(uint64_t deadline) const {
  anelane_holder holder = {};
  holder.struct_size = sizeof holder;
  if (anelane_lane_holder(or_default(flags_.lock_dir), &holder, nullptr) != ANELANE_OK || holder.held == 0)
    return;
  std::string who = holder.pid == 0 ? "another process" : "process " + std::to_string(holder.pid);
  if (holder.program[0] != '\0') who += std::string(" (") + holder.program + ")";
  // Ten minutes unless the user says otherwise: long enough to look like a tool that hangs.
  const uint64_t now = anelane_now_ns();
  const uint64_t seconds = deadline > now ? (deadline - now + 999'999'999) / 1'000'000'000 : 0;
  line_->print_above(
      ("anelane: waiting up to " + std::to_string(seconds) + " s for the lane, which " + who + " holds")
          .c_str());
}

anelane_status Session::open(uint64_t deadline, anelane_error* err) {
  anelane_lane_options options;
  anelane_lane_options_init(&options, sizeof options);
  options.engine = flags_.engine;
  options.worker_mode = flags_.worker_mode;
  options.lock_dir = or_default(flags_.lock_dir);
  options.cache_dir = or_default(flags_.cache_dir);
  options.temp_dir = or_default(flags_.temp_dir);
  options.record_path = or_default(flags_.record_path);
  const anelane_status status = anelane_lane_open(&options, 0, &lane_, err);
  if (status != ANELANE_LANE_BUSY || deadline <= anelane_now_ns()) return status;
  say_who_holds(deadline);
  return anelane_lane_open(&options, deadline, &lane_, err);
}

anelane_status Session::load(const std::string& model_dir, uint64_t deadline, anelane_error* err) {
  anelane_model_options options;
  anelane_model_options_init(&options, sizeof options);
  options.progress = ProgressLine::on_progress;
  options.progress_user = line_;
  anelane_status status = anelane_model_load(lane_, model_dir.c_str(), &options, deadline, &model_, err);
  if (status != ANELANE_OK) return status;
  info_.struct_size = sizeof info_;
  return anelane_model_get_info(model_, &info_, err);
}

anelane_status Session::close(anelane_error* err) {
  line_->erase();
  if (lane_.bits == 0) return ANELANE_OK;
  const anelane_lane lane = lane_;
  lane_ = {};
  model_ = {};
  return anelane_lane_close(lane, deadline_after_ms(kCloseMs), err);
}

}  // namespace anelane_tool
