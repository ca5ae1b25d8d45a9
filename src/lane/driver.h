// The driver stands between the scheduler, which decides, and workers and callers, who act. Lane thread only.
// Every event goes through feed(), one at a time, in the order of EventQueue; the actions of one step are
// carried out, in that of StepOrder, before the next event is taken. Nothing here decides what runs when.
#pragma once
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "lane/crash_file.h"
#include "lane/event_queue.h"
#include "lane/lane_model.h"
#include "lane/loop_thread.h"
#include "lane/options.h"
#include "lane/state_file.h"
#include "lane/step_order.h"
#include "scheduler/scheduler.h"

namespace anelane {

class Completions;
class HistoryFile;
class Lane;

class Driver {
 public:
  // Granted: the epoch of the pinned slot (0 for an admission without pin). Comes exactly once.
  using Answer = std::function<void(Result<sched::SlotGate::Epoch>)>;

  // `history`: nullptr unless the lane is recorded.
  Driver(Lane* lane, const LaneOptions& options, std::unique_ptr<HistoryFile> history);
  ~Driver();

  // ---- models ----
  // Starts the first worker of a model whose headers have been read. `done` comes when it is ready or has
  // failed.
  void start_model(std::shared_ptr<LaneModel> model, std::function<void(Status)> done);
  // The load is not wanted any more.
  void abandon_start(const std::shared_ptr<LaneModel>& model, const Status& why);
  void retire(const std::shared_ptr<LaneModel>& model, std::function<void(Status)> done);

  // ---- requests ----
  // 0: it was answered already, before this returned.
  sched::TicketId request(const std::shared_ptr<LaneModel>& model, uint32_t rung, uint64_t deadline_ns,
                          bool pin, Answer answer);
  void cancel(sched::TicketId ticket);
  // While one lives, what follows from many events is done once, at its end: timer, record, state file.
  class Batch {
   public:
    explicit Batch(Driver& driver) : driver_(driver) { ++driver_.batches_; }
    ~Batch() {
      if (--driver_.batches_ == 0 && !driver_.stopped_) driver_.settle_up();
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    Driver& driver_;
  };
  // Gives back a lease that the lane thread holds.
  void release(const std::shared_ptr<LaneModel>& model, uint32_t rung, sched::SlotGate::Epoch epoch);
  void released(const std::shared_ptr<LaneModel>& model, uint32_t rung);  // a gate asked for this
  void start_ticking();
  // A broken exchange of this generation (also one that a caller's thread saw).
  void fault(const std::shared_ptr<LaneModel>& model, sched::Generation generation, Status why);
  // The first inference of a worker has ended well.
  void note_service(const LaneModel& model);

  uint64_t predict_ms(const LaneModel& model, uint32_t rung);
  // True while the wait of a request would be for a compile: L5.4's choice of code.
  bool compiling(const LaneModel& model, uint32_t rung);
  sched::Snapshot snapshot();
  std::shared_ptr<LaneModel> find_model(sched::WorkerId worker) const { return model_of(worker); }
  size_t model_count() const { return models_.size(); }

  // ---- the end ----
  // Answers everybody and stops deciding.
  void stop(Code code);
  // Asks every worker to end; `all_gone` comes once no process is left.
  void end_workers(std::function<void()> all_gone);
  void kill_workers();
  // Drops links and models. True: a process was left whose exit is not confirmed.
  bool drop_workers();

 private:
  struct Launch {
    std::thread thread;
    const LaneModel* model;
    std::shared_ptr<std::atomic<bool>> abort;
  };
  using Started = std::function<void(Status)>;

  void feed(sched::Event event);
  void settle_up();
  void carry_out(const sched::Action& action);
  void set_hints();
  void ask_for_idle();
  void publish_time(sched::Time now);
  void arm_timer();
  std::shared_ptr<LaneModel> model_of(sched::WorkerId worker) const;

  void withdraw(const sched::Action& action);
  void start_admission(const sched::Action& action);
  void admission_answered(const std::shared_ptr<LaneModel>& model, sched::Generation generation,
                          uint32_t rung, Result<worker::Frame> reply);
  void start_eviction(const sched::Action& action);
  void answer(const sched::Action& action);
  void spawn(const sched::Action& action);
  void recover(const sched::Action& action);
  void close_worker(const sched::Action& action);
  void abort_launch(const LaneModel* model);
  void log_prewarm(const LaneModel& model, const sched::Action& action);

  void start_worker(std::shared_ptr<LaneModel> model, sched::Generation generation, Started done);
  void launched(std::shared_ptr<LaneModel> model, sched::Generation generation,
                Result<std::unique_ptr<worker::WorkerHandle>> handle, std::shared_ptr<worker::Arena> arena,
                Started done);
  void loaded(const std::shared_ptr<LaneModel>& model, Result<worker::Frame> reply, const Started& done);
  Status take_report(const std::shared_ptr<LaneModel>& model, const worker::LoadedBody& report);
  WorkerLink::Events link_events(const std::shared_ptr<LaneModel>& model, sched::Generation generation);
  void link_gone(const std::shared_ptr<LaneModel>& model, sched::Generation generation);
  void drop_start(const std::shared_ptr<LaneModel>& model, Status why);
  void end_failed_start(const std::shared_ptr<LaneModel>& model, const Status& why);
  Status publish_core(const std::shared_ptr<LaneModel>& model);
  void check_all_gone();
  // The book of crashes, beyond the life of this lane (L6.4).
  Status admit_start(LaneModel& model);
  uint64_t note_crash(const LaneModel& model, const Status& why);

  void tick();
  bool expire_leases(LaneModel& model);

  Lane* lane_;
  const LaneOptions options_;
  std::unique_ptr<sched::Scheduler> scheduler_;
  std::unique_ptr<HistoryFile> history_;
  StateFile state_;
  CrashFile crashes_;
  EventQueue events_;
  StepOrder step_;  // the actions that are carried out
  bool feeding_ = false, stopped_ = false, ending_ = false, broken_told_ = false;
  int batches_ = 0;
  LoopThread::TimerId timer_{}, tick_timer_{};
  sched::Time timer_due_ = sched::kNever;  // of timer_

  std::map<sched::WorkerId, std::shared_ptr<LaneModel>> models_;  // known to the scheduler
  std::map<LaneModel*, std::pair<std::shared_ptr<LaneModel>, Started>>
      starting_;                                         // first worker not ready yet
  std::list<std::shared_ptr<LaneModel>> failed_starts_;  // their processes are ending
  std::deque<std::shared_ptr<LaneModel>> retired_;       // cores still answer RETIRED
  std::list<Launch> launches_;
  std::function<void()> all_gone_;

  struct Waiting {
    Answer answer;
    std::shared_ptr<LaneModel> model;
    uint32_t rung;
  };
  std::unordered_map<sched::TicketId, Waiting> waiting_;
  sched::TicketId last_ticket_ = 0;
  const Status cancelled_ = error(Code::kCancelled, "cancelled by the caller");
  bool ticking_ = false;
};

}  // namespace anelane
