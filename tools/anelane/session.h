// An open lane with at most one model, closed at the end of the scope.
#pragma once
#include <anelane.h>

#include <cstdint>
#include <string>

#include "progress_line.h"

namespace anelane_tool {

// What the flags of embed and selftest say about the lane.
struct LaneFlags {
  std::string lock_dir;   // empty: the library's default
  std::string cache_dir;  // the same
  std::string temp_dir;   // the same
  anelane_engine engine = ANELANE_ENGINE_AUTO;
  anelane_worker_mode worker_mode = ANELANE_WORKER_PROCESS;
  std::string record_path;  // file for the record of all decisions; empty: none
  bool stats = false;       // the library's log, from INFO, on stderr
};

// Absolute time, for the library, `ms` from now.
uint64_t deadline_after_ms(uint64_t ms);
const char* engine_name(anelane_engine engine);

// A folder of the command line as the library takes it; "" stays "" (the library's default).
std::string absolute_folder(const std::string& path);

class Session {
 public:
  // Log lines and progress go through `line`, which must outlive every Session.
  Session(const LaneFlags& flags, ProgressLine* line);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes the lane; while somebody else holds it, says so once and waits until the deadline.
  anelane_status open(uint64_t deadline, anelane_error* err);
  anelane_status load(const std::string& model_dir, uint64_t deadline, anelane_error* err);
  // In good order, and with the library's own answer. The destructor does it without.
  anelane_status close(anelane_error* err);

  anelane_lane lane() const { return lane_; }
  anelane_model model() const { return model_; }
  const anelane_model_info& info() const { return info_; }

 private:
  void say_who_holds(uint64_t deadline) const;

  const LaneFlags flags_;
  ProgressLine* const line_;
  anelane_lane lane_ = {};
  anelane_model model_ = {};
  anelane_model_info info_ = {};
};

}  // namespace anelane_tool
