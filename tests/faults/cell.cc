// The course of a cell: a healthy model with some shapes resident → the fault is armed → something leads the
// worker to the point (`bait`) → the call is made while that goes on → both must end in time, with an answer
// that fits → the model must serve again (unless the worker hangs: then its lane must still let go of it) →
// it is retired, nothing may be charged any more → the lane is closed.
//
// Shapes: 32 and 64 are resident from the start, 128 too where an eviction is wanted; the model may have
// three.
#include "cell.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <thread>
#include <vector>

#include "host.h"

namespace faults {
namespace {

constexpr uint64_t kHealthyMs = 60'000;  // for what must not fail: against hanging only
constexpr uint64_t kCallMs = 20'000;     // deadline of a call that meets a fault which is noticed at once
constexpr uint64_t kHungMs = 1'500;      // deadline of a call that meets a worker which says nothing more
constexpr uint64_t kSlackMs = 5'000;     // how late a call may be: a busy machine
constexpr uint64_t kDrainMs = 1'000;
constexpr uint64_t kHealMs = 30'000;
constexpr uint32_t kDim = 64;

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

class Course {
 public:
  Course(const Cell& cell, const LaneFolder& folder, const std::string& cache, const std::string& model)
      : cell_(cell), folder_(folder), cache_(cache), path_(model) {}
  Outcome run();

 private:
  // Nothing comes any more.
  bool hangs() const {
    return is_one_of(cell_.fault, {"stall", "freeze", "half_frame"}) || (loses() && !loses_progress());
  }
  bool loses() const { return cell_.fault == "lose"; }
  bool loses_progress() const { return loses() && cell_.point == "progress"; }
  // The control thread tells in seconds that nothing will come; a stuck engine thread looks like a long
  // compile.
  bool is_found_out() const { return cell_.fault == "freeze" || loses(); }
  bool evicts() const { return cell_.call == "evict" || cell_.point == "evict"; }
  bool ends() const { return is_one_of(cell_.call, {"retire", "close"}) || cell_.point == "stop"; }
  bool starts_worker() const { return is_one_of(cell_.point, {"hello", "load"}); }
  void fail(const std::string& why) {
    if (out_.verdict.empty()) out_.verdict = why;
  }
  bool must(anelane_status status, const char* what, const anelane_error& err) {
    if (status != ANELANE_OK) fail(std::string(what) + ": " + text_of(err));
    return status == ANELANE_OK;
  }

  bool set_up();
  anelane_model_options model_options(const char* name) const;
  anelane_status embed(uint64_t deadline, std::vector<float>* row, anelane_error* err) const;
  void lay_bait();
  void bait_run();
  void call();
  void check_call(anelane_status status, const anelane_error& err, uint64_t bound_ms);
  void await_strike() const;
  void await_bait();
  void heal();
  void clear_away();
  void check_restarts();

  const Cell cell_;
  const LaneFolder& folder_;
  const std::string cache_, path_;
  Outcome out_;
  anelane_lane lane_ = {};
  anelane_model model_ = {}, second_ = {};
  anelane_lease lease_ = {};
  bool open_ = false;
  uint64_t faults_ = 1;  // that we caused: the armed one, and a kill where that leads to it
  std::vector<float> right_ = std::vector<float>(kDim);
  std::vector<std::vector<uint8_t>> tensors_;
  Started bait_;
};

anelane_model_options Course::model_options(const char* name) const {
  static constexpr uint32_t kRungs[] = {32, 64, 128, 256};
  anelane_model_options options = {};
  anelane_model_options_init(&options, sizeof options);
  options.rungs = kRungs;
  options.rung_count = 4;
  options.name = name;
  return options;
}

anelane_status Course::embed(uint64_t deadline, std::vector<float>* row, anelane_error* err) const {
  static constexpr int32_t kIds[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {kIds, 5};
  return anelane_embed(model_, &item, 1, row->data(), 0, nullptr, deadline, err);
}

bool Course::set_up() {
  anelane_lane_options options = {};
  anelane_lane_options_init(&options, sizeof options);
  options.engine = ANELANE_ENGINE_SOFT;
  options.soft_threads = 1;
  options.shapes_per_model = 3;
  options.settle_ms = 1;
  options.drain_ms = kDrainMs;
  options.lock_dir = folder_.path().c_str();
  options.cache_dir = cache_.c_str();
  options.worker_path = folder_.worker().c_str();
  anelane_error err = new_error();
  if (!must(anelane_lane_open(&options, in_ms(kHealthyMs), &lane_, &err), "open", err)) return false;
  open_ = true;
  const anelane_model_options first = model_options("first");
  const bool leased = cell_.point == "run";
  return must(anelane_model_load(lane_, path_.c_str(), &first, in_ms(kHealthyMs), &model_, &err), "load",
              err) &&
         must(embed(in_ms(kHealthyMs), &right_, &err), "first embed", err) &&
         must(anelane_admit(model_, 64, in_ms(kHealthyMs), &err), "admit", err) &&
         (!leased || must(anelane_lease_acquire(model_, 64, 0, &lease_, &err), "lease", err)) &&
         (!evicts() || must(anelane_admit(model_, 128, in_ms(kHealthyMs), &err), "admit", err));
}

// Leads the worker to the point, where the call itself does not. Its own answer is part of what is checked.
void Course::lay_bait() {
  anelane_error err = new_error();
  const uint64_t deadline = in_ms(hangs() ? kHungMs : kCallMs);
  anelane_status begun = ANELANE_OK;
  folder_.arm();
  if (starts_worker()) {
    if (cell_.call == "load") return;  // its own worker meets the fault
    const pid_t worker = worker_of(lane_, "first");
    if (worker <= 0) return fail("the lane does not say which process serves the model");
    ++faults_;
    ::kill(worker, SIGKILL);
    return;
  }
  if (cell_.point == "stop") {
    if (ends() && cell_.call != "retire" && cell_.call != "close")
      begun = anelane_start_retire(model_, deadline, count_end, &bait_, &bait_.op, &err);
    else
      return;
  } else if (cell_.point == "embed") {
    static constexpr int32_t kIds[] = {2, 50, 3};
    const anelane_tokens item = {kIds, 3};
    begun = anelane_start_embed(model_, &item, 1, deadline, count_end, &bait_, &bait_.op, &err);
  } else if (cell_.point == "run") {
    return bait_run();
  } else {  // admit, progress, evict
    begun = anelane_start_lease(model_, evicts() ? 256 : 128, deadline, count_end, &bait_, &bait_.op, &err);
  }
  bait_.begun = begun == ANELANE_OK;
  must(begun, "bait", err);
}

void Course::bait_run() {
  anelane_error err = new_error();
  anelane_port ports[4];
  for (anelane_port& port : ports) port.struct_size = sizeof port;
  size_t count = 0;
  if (!must(anelane_model_ports(model_, 64, ports, 4, &count, &err), "ports", err)) return;
  std::vector<anelane_tensor> in;
  for (uint32_t i = 0; i < count; ++i) {
    if (ports[i].is_output != 0) continue;
    tensors_.emplace_back(ports[i].bytes);
    in.push_back({tensors_.back().data(), ports[i].bytes, i, 0});
  }
  const anelane_status begun = anelane_start_run(
      lease_, in.data(), in.size(), in_ms(hangs() ? kHungMs : kCallMs), count_end, &bait_, &bait_.op, &err);
  bait_.begun = begun == ANELANE_OK;
  must(begun, "bait", err);
}

void Course::call() {
  anelane_error err = new_error();
  const uint64_t bound = hangs() ? kHungMs : kCallMs;
  const uint64_t start = anelane_now_ns();
  const uint64_t deadline = in_ms(bound);
  anelane_status status = ANELANE_OK;
  uint64_t more_ms = 0;
  if (cell_.call == "embed") {
    std::vector<float> row(kDim);
    status = embed(deadline, &row, &err);
    if (status == ANELANE_OK && row != right_) fail("a wrong vector");
  } else if (cell_.call == "admit") {
    status = anelane_admit(model_, evicts() ? 256 : 128, deadline, &err);
  } else if (cell_.call == "evict") {
    status = anelane_admit(model_, 256, deadline, &err);
  } else if (cell_.call == "load") {
    const anelane_model_options options = model_options("second");
    status = anelane_model_load(lane_, path_.c_str(), &options, deadline, &second_, &err);
  } else if (cell_.call == "retire") {
    more_ms = kDrainMs + 2'000;  // drained by force, asked to leave, killed
    status = anelane_model_retire(model_, deadline + more_ms * 1'000'000, &err);
  } else {
    more_ms = 1'000;  // by force
    status = anelane_lane_close(lane_, deadline, &err);
    open_ = false;
  }
  out_.call_ms = ms_since(start);
  out_.said = anelane_status_name(status);
  check_call(status, err, bound + more_ms + kSlackMs);
}

void Course::check_call(anelane_status status, const anelane_error& err, uint64_t bound_ms) {
  if (out_.call_ms > bound_ms) fail("the call took " + std::to_string(out_.call_ms) + " ms");
  bool fits = status == ANELANE_OK;
  if (is_one_of(cell_.call, {"embed", "admit", "evict"})) {
    fits = fits || status == ANELANE_ENGINE_CRASHED || (cell_.point == "stop" && status == ANELANE_RETIRED) ||
           (hangs() && (status == ANELANE_DEADLINE_EXCEEDED || status == ANELANE_SHAPE_COMPILING ||
                        status == ANELANE_RESOURCES_EXHAUSTED));
  } else if (cell_.call == "load" && starts_worker()) {
    // The first life: whoever loads is told.
    const bool broke = status == ANELANE_ENGINE_CRASHED || status == ANELANE_PROTOCOL;
    if (hangs())
      fits = status == ANELANE_DEADLINE_EXCEEDED;
    else if (is_one_of(cell_.fault, {"twice", "deaf"}))  // the answer itself is a good one
      fits = fits || broke;
    else if (cell_.fault != "late")
      fits = broke;
  }
  if (!fits) fail("the call said " + text_of(err));
}

void Course::await_strike() const {
  const uint64_t start = anelane_now_ns();
  while (folder_.armed() && ms_since(start) < kSlackMs)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Course::await_bait() {
  if (!bait_.begun) return;
  const uint64_t bound = (hangs() ? kHungMs : kCallMs) + kDrainMs + 2'000 + kSlackMs;
  const uint64_t start = anelane_now_ns();
  while (bait_.told == 0 && ms_since(start) < bound)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (bait_.told == 0) return fail("a request was never answered");
  const anelane_status status = bait_.status;
  out_.told_before = anelane_status_name(status);
  const bool fits = status == ANELANE_OK || status == ANELANE_ENGINE_CRASHED ||
                    (ends() && (status == ANELANE_RETIRED || status == ANELANE_CLOSED)) ||
                    (hangs() && (status == ANELANE_DEADLINE_EXCEEDED || status == ANELANE_SHAPE_COMPILING));
  if (!fits) fail("a request was told " + out_.told_before);
  anelane_op_release(bait_.op);
}

// The next life of the worker serves, and no more lives were spent than faults happened.
void Course::heal() {
  anelane_error err = new_error();
  const uint64_t start = anelane_now_ns();
  std::vector<float> row(kDim);
  anelane_status status = ANELANE_OK;
  do {
    status = embed(in_ms(kHealMs), &row, &err);
    if (status != ANELANE_OK) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (status != ANELANE_OK && err.error_class == ANELANE_TRANSIENT && ms_since(start) < kHealMs);
  if (must(status, "afterwards", err) && row != right_) fail("a wrong vector afterwards");
}

void Course::check_restarts() {
  out_.restarts = stats_of(lane_).restarts;
  const bool first_life = starts_worker() && cell_.call == "load";
  // A worker that answered its load well has begun to serve: its end is followed by another.
  const uint64_t most = first_life && out_.said != "OK" ? 0 : faults_;
  if (out_.restarts > most)
    fail(std::to_string(out_.restarts) + " restarts for " + std::to_string(most) + " faults");
  // What is noticed must have been counted; a late answer is no fault, nor is progress told twice.
  const bool harmless =
      cell_.fault == "late" || (cell_.point == "progress" && cell_.fault == "twice") || loses_progress();
  const uint64_t least = harmless || (hangs() && !is_found_out()) ? 0 : most;
  if (!ends() && !first_life && out_.restarts < least)
    fail("only " + std::to_string(out_.restarts) + " restarts for " + std::to_string(least) + " faults");
  if (harmless && out_.restarts > faults_ - 1) fail("what is no fault cost a worker");
}

void Course::clear_away() {
  anelane_error err = new_error();
  if (!open_) return;
  anelane_lease_release(lease_);
  const uint64_t bound = kDrainMs + 2'000 + kSlackMs;
  for (const anelane_model model : {model_, second_}) {
    if (model.bits == 0) continue;
    must(anelane_model_retire(model, in_ms(bound), &err), "retire at the end", err);
  }
  const anelane_lane_stats stats = stats_of(lane_);
  if (stats.reserved_programs != 0)
    fail(std::to_string(stats.reserved_programs) + " programs are still charged");
  const uint64_t start = anelane_now_ns();
  must(anelane_lane_close(lane_, in_ms(kHealthyMs), &err), "close at the end", err);
  if (ms_since(start) > kSlackMs)
    fail("the close at the end took " + std::to_string(ms_since(start)) + " ms");
}

Outcome Course::run() {
  if (set_up()) {
    lay_bait();
    // Whoever ends things must not come before the fault does.
    if (is_one_of(cell_.call, {"retire", "close"}) && cell_.point != "stop") await_strike();
    if (out_.verdict.empty()) call();
    await_bait();
    // A hung HELLO is given up after ten seconds; a stuck engine is for the time-out of its exchange.
    const bool heals = !ends() && (!hangs() || is_found_out() || cell_.point == "hello");
    if (heals && out_.verdict.empty()) heal();
    if (starts_worker())
      await_strike();  // a caller may be told of the kill long before the next worker starts
    if (open_) check_restarts();
    out_.struck = !folder_.armed();
    if (!out_.struck) fail("the fault never happened");
    if (bait_.told > 1) fail("a request was answered " + std::to_string(bait_.told) + " times");
  }
  clear_away();
  if (bait_.told > 1) fail("a request was answered " + std::to_string(bait_.told) + " times");
  return out_;
}

}  // namespace

Outcome run_cell(const Cell& cell, const std::string& folder, const std::string& cache,
                 const std::string& model) {
  const LaneFolder lane(folder, cell.point + ":" + cell.fault);
  return Course(cell, lane, cache, model).run();
}

}  // namespace faults
