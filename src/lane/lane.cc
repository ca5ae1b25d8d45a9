// Opening and closing. The registry (one map for the process, from lock folder to lane) makes two opens of
// one folder the same lane; whoever comes while the lane is being opened or closed waits for that to end.
//
// Closing, in order: new calls are refused → everybody who waits is answered CLOSED → workers are asked to
// end; at the deadline, or after kCloseAskMs, they are killed → the lane thread ends → the last callbacks run
// → the lock's descriptor is closed. So a close is bounded whatever deadline it was given (L6.5).
#include "lane/lane.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>

#include "base/clock.h"
#include "base/fork_guard.h"
#include "base/limits.h"
#include "lane/history_file.h"

namespace anelane {

struct LaneRegistry {
  std::mutex mutex;
  std::condition_variable changed;
  struct Entry {
    std::shared_ptr<Lane> lane;  // null while it is being opened or closed
  };
  std::map<std::string, Entry> lanes;

  static LaneRegistry& get() {
    static LaneRegistry* registry =
        new LaneRegistry;  // never destroyed: exit() may come while a lane is open
    return *registry;
  }
  static uint32_t& opens(Lane& lane) { return lane.opens_; }
  static Status start(Lane& lane) { return lane.start(); }
  static Status shut_down(Lane& lane, uint64_t deadline_ns) { return lane.shut_down(deadline_ns); }
};

namespace {

constexpr uint64_t kForcedNs = 1'000'000'000;  // for the kill to be confirmed

uint64_t new_lane_id() {
  static std::atomic<uint64_t> serial{0};
  return (static_cast<uint64_t>(::getpid()) << 32) | (serial.fetch_add(1, std::memory_order_relaxed) + 1);
}

// False: the deadline has passed.
bool wait_until(std::condition_variable& cv, std::unique_lock<std::mutex>& lock, uint64_t deadline_ns) {
  const uint64_t now = now_ns();
  if (now >= deadline_ns) return false;
  cv.wait_for(lock, std::chrono::nanoseconds(std::min<uint64_t>(deadline_ns - now, 3'600'000'000'000u)));
  return true;
}

}  // namespace

Lane::Lane(const LaneOptions& options, std::string folder, LaneLock lock)
    : options_(options),
      folder_(std::move(folder)),
      cache_folder_(options.cache_dir.empty() ? program_cache_folder(options.lock_dir, folder_)
                                              : options.cache_dir),
      id_(new_lane_id()),
      lock_(std::move(lock)) {}

Lane::~Lane() = default;

Status Lane::start() {
  const StdioGuard guard;
  ANELANE_ASSIGN(completions_, Completions::create());
  ANELANE_ASSIGN(loop_, LoopThread::start());
  std::unique_ptr<HistoryFile> history;
  if (!options_.record_path.empty()) {
    ANELANE_ASSIGN(history, HistoryFile::create(options_.record_path));
  }
  driver_ = std::make_unique<Driver>(this, options_, std::move(history));
  return {};
}

Result<std::shared_ptr<Lane>> Lane::open(const LaneOptions& options, uint64_t deadline_ns) {
  fork_guard::install();
  ANELANE_ASSIGN(const std::string folder, lane_folder(options.lock_dir));
  LaneRegistry& registry = LaneRegistry::get();
  std::unique_lock lock(registry.mutex);
  for (;;) {
    const auto it = registry.lanes.find(folder);
    if (it == registry.lanes.end()) break;
    if (it->second.lane) {
      Lane& lane = *it->second.lane;
      if (const std::string name = first_difference(lane.options_, options); !name.empty())
        return error(Code::kInvalidArgument, "the lane at " + folder +
                                                 " is open in this process with another " + name +
                                                 "; use the same options or close it first");
      ++LaneRegistry::opens(lane);
      return it->second.lane;
    }
    if (!wait_until(registry.changed, lock, deadline_ns))
      return error(Code::kLaneBusy,
                   "another thread of this process is opening or closing the lane at " + folder);
  }
  registry.lanes[folder];  // being opened
  lock.unlock();

  Result<std::shared_ptr<Lane>> opened = [&]() -> Result<std::shared_ptr<Lane>> {
    ANELANE_ASSIGN(LaneLock lane_lock, LaneLock::acquire(folder, deadline_ns));
    auto lane = std::make_shared<Lane>(options, folder, std::move(lane_lock));
    ANELANE_TRY(LaneRegistry::start(*lane));
    return lane;
  }();

  lock.lock();
  if (opened.ok())
    registry.lanes[folder].lane = *opened;
  else
    registry.lanes.erase(folder);
  registry.changed.notify_all();
  return opened;
}

Status Lane::close(uint64_t deadline_ns) {
  LaneRegistry& registry = LaneRegistry::get();
  {
    std::lock_guard lock(registry.mutex);
    if (--opens_ > 0) return {};
    closing_.store(true, std::memory_order_release);
    registry.lanes[folder_].lane.reset();  // being closed; the caller holds a reference
  }
  Status status = shut_down(deadline_ns);
  {
    std::lock_guard lock(registry.mutex);
    registry.lanes.erase(folder_);
    registry.changed.notify_all();
  }
  return status;
}

Status Lane::shut_down(uint64_t deadline_ns) {
  std::mutex mutex;
  std::condition_variable gone_cv;
  bool gone = false;
  loop_->post([&] {
    driver_->stop(Code::kClosed);
    std::unordered_map<Operation*, std::shared_ptr<Operation>> left;
    {
      std::lock_guard lock(operations_mutex_);
      left = operations_;
    }
    for (const auto& [raw, op] : left) op->on_close();
    driver_->end_workers([&] {
      std::lock_guard lock(mutex);
      gone = true;
      gone_cv.notify_one();
    });
  });
  // A worker process in any kind of health is gone after kExitAskMs, by its own force; a thread ends when its
  // engine lets it.
  const uint64_t ask_ns =
      uint64_t{options_.thread_mode ? limits::kExitTimeoutMs : limits::kCloseAskMs} * 1'000'000;
  bool forced = false;
  {
    std::unique_lock lock(mutex);
    const uint64_t last = std::min(deadline_ns, now_ns() + ask_ns);
    while (!gone && wait_until(gone_cv, lock, last)) {
    }
    forced = !gone;
  }
  if (forced) {
    loop_->post([this] { driver_->kill_workers(); });
    std::unique_lock lock(mutex);
    const uint64_t last = now_ns() + kForcedNs;
    while (!gone && wait_until(gone_cv, lock, last)) {
    }
  }
  bool unconfirmed = false;
  loop_->run([&] { unconfirmed = driver_->drop_workers(); });
  loop_->stop();
  completions_->stop();
  lock_.close();
  if (unconfirmed)
    return error(Code::kDeadlineExceeded,
                 "a worker could not be ended in time; the lane stays busy until it is gone");
  return {};
}

Status Lane::closed_status() const {
  return error(Code::kClosed, "the lane is closed; open it again").with_lane(id_);
}

Status Lane::on_lane_thread(const std::function<void()>& task) {
  if (closing() || !loop_->run(task)) return closed_status();
  return {};
}

void Lane::cancel(std::vector<std::shared_ptr<Operation>> ops) {
  {
    std::lock_guard lock(cancels_mutex_);
    const bool asked = !cancels_.empty();
    cancels_.insert(cancels_.end(), std::make_move_iterator(ops.begin()), std::make_move_iterator(ops.end()));
    if (asked || cancels_.empty()) return;
  }
  const bool posted = loop_->post([self = shared_from_this()] {
    std::vector<std::shared_ptr<Operation>> asked;
    {
      std::lock_guard lock(self->cancels_mutex_);
      asked.swap(self->cancels_);
    }
    const Completions::Batch batch(*self->completions_);
    const Driver::Batch decisions(*self->driver_);
    for (const auto& op : asked) op->cancel_now();
  });
  if (posted) return;
  std::vector<std::shared_ptr<Operation>> too_late;  // closed: they have ended; freed outside the lock
  std::lock_guard lock(cancels_mutex_);
  too_late.swap(cancels_);
}

bool Lane::enter_operation(const std::shared_ptr<Operation>& op) {
  if (closing()) return false;
  std::lock_guard lock(operations_mutex_);
  operations_.emplace(op.get(), op);
  return true;
}

void Lane::leave_operation(Operation* op) {
  std::shared_ptr<Operation> kept;  // freed outside the lock
  std::lock_guard lock(operations_mutex_);
  const auto it = operations_.find(op);
  if (it == operations_.end()) return;
  kept = std::move(it->second);
  operations_.erase(it);
}

}  // namespace anelane
