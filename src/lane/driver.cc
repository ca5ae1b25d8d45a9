// Events in, actions out. feed() may be called from inside an action (an exchange that fails at once, say):
// such events wait in `events_` until the step in progress has been carried out, so the scheduler sees one at
// a time.
#include "lane/driver.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "lane/history_file.h"
#include "lane/lane.h"
#include "worker/protocol.h"

namespace anelane {
namespace {

using sched::Action;
using sched::ActionKind;
using sched::Event;
using sched::EventKind;

// The system's daemon outlives our workers: it compiles on without them, and gives room back a moment after
// an unload (L4.13, L4.15).
bool may_be_apple(EngineChoice engine) {
#ifdef __APPLE__
  return engine != EngineChoice::kSoft;
#else
  return engine == EngineChoice::kApple;
#endif
}

sched::Options scheduler_options(const LaneOptions& o) {
  sched::Options s;
  s.executable_budget = o.executable_budget;
  s.shapes_per_model = o.shapes_per_model;
  s.shapes_total = o.shapes_total;
  s.max_waiting = o.max_waiting;
  s.settle = static_cast<sched::Time>(o.settle_ms) * 1000;
  s.admission_bound = static_cast<sched::Time>(o.admission_bound_ms) * 1000;
  s.handoff = static_cast<sched::Time>(o.handoff_ms) * 1000;
  s.lease_max = static_cast<sched::Time>(o.lease_max_ms) * 1000;
  s.drain = static_cast<sched::Time>(o.drain_ms) * 1000;
  if (may_be_apple(o.engine)) {
    s.reclaim = limits::kAppleReclaimMs * 1000;
    s.daemon_goes_on = true;
  }
  return s;
}

sched::Time to_scheduler_time(uint64_t deadline_ns) {
  return deadline_ns == UINT64_MAX ? sched::kNever : static_cast<sched::Time>(deadline_ns / 1000);
}

Event worker_event(EventKind kind, const LaneModel& model, uint32_t rung = 0) {
  Event e;
  e.kind = kind;
  e.worker = model.worker;
  e.generation = model.generation;
  e.rung = rung;
  return e;
}

}  // namespace

Driver::Driver(Lane* lane, const LaneOptions& options, std::unique_ptr<HistoryFile> history)
    : lane_(lane),
      options_(options),
      scheduler_(std::make_unique<sched::Scheduler>(scheduler_options(options))),
      history_(std::move(history)),
      state_(lane),
      crashes_(lane->folder()) {
  if (history_) history_->start(scheduler_.get(), scheduler_options(options));
}

// A launch that a forced close did not wait for keeps the lane, and so this object, until it has ended.
Driver::~Driver() {
  for (Launch& launch : launches_)
    if (launch.thread.joinable()) launch.thread.detach();
}

void Driver::publish_time(sched::Time now) {
  for (auto& [id, model] : models_) model->core->coarse_now.store(now, std::memory_order_relaxed);
}

void Driver::set_hints() {
  for (auto& [id, model] : models_) {
    const auto stream = model->stream();
    scheduler_->set_stream_hint(id, stream != nullptr && stream->idle());
    scheduler_->set_blocked_leases(id, model->link ? model->link->leases_behind_admission() : 0);
  }
}

// Retirement and prewarm wait for a quiet stream, which a caller's own run may be the last to use.
void Driver::ask_for_idle() {
  for (auto& [id, model] : models_) {
    const bool wanted = scheduler_->wants_stream_idle(id);
    if (wanted == model->asked_for_idle) continue;
    const auto stream = model->stream();
    if (!stream) continue;
    model->asked_for_idle = wanted;
    if (!wanted) {
      stream->tell_idle(nullptr);
      continue;
    }
    stream->tell_idle([lane = lane_, weak = std::weak_ptr<LaneModel>(model)] {
      if (const auto m = weak.lock())
        m->lane->loop().post([lane, m] { lane->driver().feed(worker_event(EventKind::kStreamIdle, *m)); });
    });
    if (stream->idle()) events_.push(worker_event(EventKind::kStreamIdle, *model));
  }
}

void Driver::feed(Event event) {
  if (stopped_) return;
  events_.push(event);
  if (feeding_) return;
  feeding_ = true;
  while (!events_.empty() && !stopped_) {
    const Event next = events_.pop();
    set_hints();
    const sched::Time now = now_us();
    publish_time(now);
    // A copy: carrying out an action may lead to the next step, which ends the life of the span.
    const auto span = scheduler_->step(now, next);
    step_.take(span);
    for (const Action& action : step_.withdrawals()) withdraw(action);
    for (const Action& action : step_.others()) carry_out(action);  // none of them feeds: `feeding_`
    for (const Action& action : step_.starts())
      action.kind == ActionKind::kStartAdmission ? start_admission(action) : start_eviction(action);
    ask_for_idle();
    if (!broken_told_ && !scheduler_->broken().empty()) {
      broken_told_ = true;  // everybody has been answered, and will be (L4.14)
      log_line(LogLevel::kError, "the scheduler of lane " + std::to_string(lane_->id()) +
                                     " stopped at a broken invariant: " + scheduler_->broken());
    }
  }
  feeding_ = false;
  if (batches_ == 0) settle_up();
}

void Driver::settle_up() {
  if (history_) history_->flush();
  state_.changed();
  arm_timer();
}

void Driver::arm_timer() {
  const sched::Time due = stopped_ ? sched::kNever : scheduler_->next_due();
  if (due == timer_due_) return;
  lane_->loop().cancel_timer(&timer_);
  timer_due_ = due;
  if (due == sched::kNever) return;
  timer_ = lane_->loop().add_timer(static_cast<uint64_t>(std::max<sched::Time>(due, 1)) * 1000, [this] {
    timer_ = {};
    timer_due_ = sched::kNever;
    feed(Event{});
  });
}

std::shared_ptr<LaneModel> Driver::model_of(sched::WorkerId worker) const {
  const auto it = models_.find(worker);
  return it == models_.end() ? nullptr : it->second;
}

void Driver::carry_out(const Action& action) {
  switch (action.kind) {
    case ActionKind::kStartAdmission:
    case ActionKind::kStartEviction:
    case ActionKind::kWithdrawAdmission:
    case ActionKind::kWithdrawEviction:
      return;  // before and after these (step_order.h)
    case ActionKind::kGrant:
    case ActionKind::kOffer:
    case ActionKind::kAnswer:
      return answer(action);
    case ActionKind::kRecover:
      return recover(action);
    case ActionKind::kSpawn:
      return spawn(action);
    case ActionKind::kCloseWorker:
      return close_worker(action);
    case ActionKind::kRetired:
      if (auto model = model_of(action.worker)) {
        model->phase.store(LaneModel::Phase::kRetired);
        model->drop_tokenizer();
        scheduler_->forget(action.worker);
        models_.erase(action.worker);
        retired_.push_back(model);
        for (auto& done : model->on_retired) done({});
        model->on_retired.clear();
        constexpr size_t kRememberedRetired = 256;
        if (retired_.size() > kRememberedRetired) {
          ModelCore* core = retired_.front()->core;
          {
            std::lock_guard lock(core->mutex);
            core->model.reset();
          }
          return_core(core);
          retired_.pop_front();
        }
      }
      return;
    case ActionKind::kDropped:
      if (auto model = model_of(action.worker))
        log_line(LogLevel::kInfo, "queued admission dropped, nobody came back for it: lane=" + model->name +
                                      " shape=" + std::to_string(model->summary.ladder[action.rung]));
      return;
    case ActionKind::kPrewarmEnd:
      if (auto model = model_of(action.worker)) log_prewarm(*model, action);
      return;
  }
}

void Driver::log_prewarm(const LaneModel& model, const Action& action) {
  const auto shapes = [&](uint32_t mask) {
    std::string text = "[";
    for (uint32_t i = 0; i < model.summary.ladder.size(); ++i)
      if ((mask >> i & 1u) != 0)
        text += (text.size() > 1 ? ", " : "") + std::to_string(model.summary.ladder[i]);
    return text + "]";
  };
  const uint32_t from_cache = static_cast<uint32_t>(__builtin_popcount(action.from_cache));
  const uint32_t compiled = static_cast<uint32_t>(__builtin_popcount(action.loaded)) - from_cache;
  char ms[32];
  snprintf(ms, sizeof ms, "%.1f", static_cast<double>(action.total) / 1000);
  log_line(LogLevel::kInfo,
           std::string("direct-ANE prewarm ") + (action.cancelled ? "cancelled" : "finished") +
               ": lane=" + model.name + " loaded=" + shapes(action.loaded) +
               " loaded_from_cache=" + std::to_string(from_cache) + " compiled=" + std::to_string(compiled) +
               " already_resident=" + shapes(action.already_resident) + " skipped_for_budget=" +
               shapes(action.skipped_for_budget) + " failed=" + shapes(action.failed) + " total_ms=" + ms);
}

// ---- admissions and evictions ----

void Driver::withdraw(const Action& action) {
  const auto model = model_of(action.worker);
  if (!model || !model->link) return;
  model->link->withdraw(action.kind == ActionKind::kWithdrawAdmission
                            ? model->admissions[action.rung].exchange
                            : model->evictions[action.rung]);
}

void Driver::start_admission(const Action& action) {
  auto model = model_of(action.worker);
  if (!model || !model->link || model->generation != action.generation) return;
  const uint32_t rung = action.rung, shape = model->summary.ladder[rung];
  model->admissions[rung] = {0, action.predicted, 0};
  WorkerLink::Exchange x;
  x.frame.type = worker::FrameType::kAdmit;
  x.frame.body = Json::object().set("shape", shape).dump();
  x.timeout_ms = limits::kShapeExchangeMs;
  x.sent = [this, model, rung] {
    model->admissions[rung].sent_ns = now_ns();
    feed(worker_event(EventKind::kAdmissionSent, *model, rung));
  };
  x.progress = [this, model, rung](const worker::Frame& frame) {
    const auto progress = worker::parse_progress(frame.body);
    if (!progress.ok() || model->options.progress == nullptr) return;
    const LaneModel::Admission& a = model->admissions[rung];
    const uint64_t elapsed_ms = (now_ns() - a.sent_ns) / 1'000'000;
    const uint64_t predicted_ms = a.predicted > 0 ? static_cast<uint64_t>(a.predicted) / 1000 : 0;
    const uint64_t left = predicted_ms > elapsed_ms ? predicted_ms - elapsed_ms : 0;
    lane_->completions().call([fn = model->options.progress, user = model->options.progress_user,
                               p = *progress, left] { fn(user, p.shape, p.layer, p.layers, left); });
  };
  x.done = [this, model, generation = action.generation, rung](Result<worker::Frame> reply) {
    admission_answered(model, generation, rung, std::move(reply));
  };
  model->admissions[rung].exchange = model->link->submit(std::move(x));
}

void Driver::admission_answered(const std::shared_ptr<LaneModel>& model, sched::Generation generation,
                                uint32_t rung, Result<worker::Frame> reply) {
  if (!reply.ok() || model->generation != generation) return;  // the link has reported the fault
  Event e = worker_event(EventKind::kAdmissionDone, *model, rung);
  if (reply->type == worker::FrameType::kAdmitted) {
    const auto body = worker::parse_admitted(reply->body);
    if (!body.ok()) return model->link->fail(body.status());
    if (body->shape != model->summary.ladder[rung])
      return model->link->fail(
          error(Code::kProtocol, "the worker admitted another shape than the one asked for"));
    e.cache_hit = body->cache_hit_layers.value_or(0);
    e.compiled = body->compiled_layers.value_or(0);
    model->cached_rungs.fetch_or(1u << rung);
  } else if (reply->type == worker::FrameType::kFailed) {
    Status failed;
    if (Status bad = worker::parse_failed(reply->body, &failed); !bad.ok())
      return model->link->fail(std::move(bad));
    e.code = failed.code();
    e.permanent = !failed.detail().transient;
    model->last_failure[rung] = std::move(failed);
  } else {
    return model->link->fail(
        error(Code::kProtocol, "the worker answered an admission with a frame of another kind"));
  }
  feed(e);
}

void Driver::start_eviction(const Action& action) {
  auto model = model_of(action.worker);
  if (!model || !model->link || model->generation != action.generation) return;
  const uint32_t rung = action.rung;
  WorkerLink::Exchange x;
  x.frame.type = worker::FrameType::kEvict;
  x.frame.body = Json::object().set("shape", model->summary.ladder[rung]).dump();
  x.timeout_ms = limits::kShapeExchangeMs;
  x.sent = [this, model, rung] { feed(worker_event(EventKind::kEvictionSent, *model, rung)); };
  x.done = [this, model, generation = action.generation, rung](Result<worker::Frame> reply) {
    if (!reply.ok() || model->generation != generation) return;
    Event e = worker_event(EventKind::kEvictionDone, *model, rung);
    if (reply->type == worker::FrameType::kFailed) {
      Status failed;
      if (Status bad = worker::parse_failed(reply->body, &failed); !bad.ok())
        return model->link->fail(std::move(bad));
      e.code = failed.code();
      model->last_fault = "it could not give up a shape: " + failed.message();
      log_line(LogLevel::kWarn, "worker of " + model->name + ": " + model->last_fault);
    } else if (reply->type != worker::FrameType::kEvicted) {
      return model->link->fail(
          error(Code::kProtocol, "the worker answered an eviction with a frame of another kind"));
    }
    feed(e);
  };
  model->evictions[rung] = model->link->submit(std::move(x));
}

// ---- requests ----

sched::TicketId Driver::request(const std::shared_ptr<LaneModel>& model, uint32_t rung, uint64_t deadline_ns,
                                bool pin, Answer answer) {
  if (stopped_) {
    answer(lane_->closed_status());
    return 0;
  }
  if (pin) {
    if (const auto epoch = model->core->gates[rung].try_lease(model->core->coarse_now); epoch != 0) {
      answer(epoch);
      return 0;
    }
  }
  if (model->phase.load() != LaneModel::Phase::kReady) {
    answer(model->with_names(error(Code::kRetired, "the model was retired; load it again"), rung));
    return 0;
  }
  const sched::TicketId ticket = ++last_ticket_;
  waiting_.emplace(ticket, Waiting{std::move(answer), model, rung});
  Event e = worker_event(EventKind::kRequest, *model, rung);
  e.ticket = ticket;
  e.deadline = to_scheduler_time(deadline_ns);
  e.pin = pin;
  feed(e);
  return waiting_.contains(ticket) ? ticket : 0;
}

void Driver::cancel(sched::TicketId ticket) {
  const auto it = waiting_.find(ticket);
  if (it == waiting_.end()) return;
  const Answer answer = std::move(it->second.answer);
  waiting_.erase(it);
  Event e;
  e.kind = EventKind::kCancel;
  e.ticket = ticket;
  feed(e);
  answer(cancelled_);
}

void Driver::answer(const Action& action) {
  const auto it = waiting_.find(action.ticket);
  auto model = model_of(action.worker);
  if (it == waiting_.end()) {
    // Cancelled while the grant was on its way: the pin goes back.
    if (action.kind == ActionKind::kGrant && model)
      release(model, action.rung, model->core->gates[action.rung].epoch());
    return;
  }
  const Waiting ticket = std::move(it->second);
  const Answer& tell = ticket.answer;
  waiting_.erase(it);
  if (action.kind == ActionKind::kGrant) return tell(ticket.model->core->gates[ticket.rung].epoch());
  if (action.code == Code::kOk) return tell(sched::SlotGate::Epoch{0});

  const uint32_t shape = ticket.model->summary.ladder[ticket.rung];
  const std::string what = "shape " + std::to_string(shape) + " of " + ticket.model->name;
  Status status;
  const Status& said = ticket.model->last_failure[ticket.rung];
  if (!said.ok() && said.code() == action.code) {
    status = said;  // the worker's own words
  } else if (action.code == Code::kShapeCompiling) {
    status = error(action.code, what + " is not ready in time; ask again in " +
                                    std::to_string(action.retry_after_ms) + " ms");
  } else if (action.code == Code::kResourcesExhausted) {
    status = action.retry_after_ms == 0
                 ? error(action.code,
                         what + " can never fit: it needs " + std::to_string(ticket.model->summary.layers) +
                             " programs, the budget is " + std::to_string(options_.executable_budget))
                       .with_class(false)
                       .with_limit(options_.executable_budget)
                 : error(action.code, "no room for " + what +
                                          " on the engine now; release leases or ask again in " +
                                          std::to_string(action.retry_after_ms) + " ms");
  } else if (action.code == Code::kEngineCrashed && action.retry_after_ms != 0 &&
             ticket.model->files_changed) {
    // The replacements start well and find another model: to wait is of no use.
    return tell(ticket.model->with_names(
        error(Code::kModelInvalid, "the files of " + ticket.model->name +
                                       " changed since it was loaded: retire the model and load it again (" +
                                       ticket.model->last_fault + ")")
            .with_class(false),
        ticket.rung));
  } else if (action.code == Code::kEngineCrashed && action.retry_after_ms != 0) {
    // People need the reason as much as the delay.
    const std::string& name = ticket.model->name;
    const sched::Outage outage = scheduler_->outage(action.worker);
    std::string text = "the worker of " + name + " ended";
    if (outage == sched::Outage::kKeepsEnding)
      text = "the workers of " + name + " keep ending, and one is started at most once a minute";
    if (outage == sched::Outage::kCannotStart)
      text = "no worker can be started for " + name + " at the moment";
    text += "; ask again in " + std::to_string(action.retry_after_ms) + " ms";
    if (!ticket.model->last_fault.empty()) text += ". Why: " + ticket.model->last_fault;
    status = error(action.code, text);
  } else if (action.code == Code::kClosed) {
    status = lane_->closed_status();
  } else {
    status = error(action.code, what + ": " + code_info(action.code).advice);
  }
  if (action.retry_after_ms != 0 || action.code == Code::kResourcesExhausted)
    status = std::move(status).with_retry_after(action.retry_after_ms);
  tell(ticket.model->with_names(std::move(status), ticket.rung));
}

void Driver::release(const std::shared_ptr<LaneModel>& model, uint32_t rung, sched::SlotGate::Epoch epoch) {
  if (model->core->gates[rung].release(epoch, model->core->coarse_now)) released(model, rung);
}

void Driver::released(const std::shared_ptr<LaneModel>& model, uint32_t rung) {
  feed(worker_event(EventKind::kReleased, *model, rung));
}

void Driver::retire(const std::shared_ptr<LaneModel>& model, std::function<void(Status)> done) {
  if (model->phase.load() == LaneModel::Phase::kRetired) return done({});
  model->on_retired.push_back(std::move(done));
  if (model->phase.exchange(LaneModel::Phase::kRetiring) == LaneModel::Phase::kRetiring) return;
  feed(worker_event(EventKind::kRetire, *model));
}

uint64_t Driver::predict_ms(const LaneModel& model, uint32_t rung) {
  return static_cast<uint64_t>(std::max<sched::Time>(scheduler_->predict(now_us(), model.worker, rung), 0)) /
         1000;
}

bool Driver::compiling(const LaneModel& model, uint32_t rung) {
  return !model.core->gates[rung].is_open();
}

sched::Snapshot Driver::snapshot() {
  return scheduler_->snapshot(now_us());
}

void Driver::stop(Code code) {
  if (stopped_) return;
  Event e;
  e.kind = EventKind::kStop;
  e.code = code;
  feed(e);
  stopped_ = true;
  state_.end();
  history_.reset();  // the record ends with the last decision
  lane_->loop().cancel_timer(&timer_);
  lane_->loop().cancel_timer(&tick_timer_);
  // The scheduler has answered everybody; whoever is left was never known to it.
  auto left = std::move(waiting_);
  waiting_.clear();
  for (auto& [ticket, waiting] : left) waiting.answer(lane_->closed_status());
}

}  // namespace anelane
