// Lives of workers. A launch blocks (the first reads the model's headers; fork, exec, HELLO), so it runs on a
// short-lived thread that only posts its result back; the load that follows is an ordinary exchange. The
// first life of a model is reported to whoever loads it; later ones to the scheduler as WorkerReady or
// StartFailed.
//
// Order at a death: fault (the scheduler holds gate and charge) → the process is ended → exit confirmed
// → the scheduler says when the replacement may start.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "ane_direct/sha256.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "lane/driver.h"
#include "lane/lane.h"
#include "lane/port_layout.h"
#include "scheduler/seed_costs.h"
#include "worker/protocol.h"
#include "worker/worker_handle.h"

namespace anelane {
namespace {

using sched::Event;
using sched::EventKind;

worker::InitBody init_body(const Lane& lane, const ModelOptions& model, uint64_t arena_bytes) {
  const LaneOptions& o = lane.options();
  worker::InitBody init;
  init.engine = o.engine == EngineChoice::kApple  ? "apple"
                : o.engine == EngineChoice::kSoft ? "soft"
                                                  : "auto";
  init.cache_dir = lane.cache_folder();
  init.temp_dir = o.temp_dir;
  init.numerics = model.numerics;
  init.soft_threads = o.soft_threads;
  init.apple_route = o.apple_route;
  init.mil_dialect = o.mil_dialect;
  init.arena_bytes = arena_bytes;
  return init;
}

// Why a load ends by its caller's wish, and not because something went wrong.
bool is_given_up(Code code) {
  return code == Code::kCancelled || code == Code::kDeadlineExceeded || code == Code::kClosed;
}

// The machine had nothing to start it with: descriptors, processes, memory. No worker has run.
bool is_shortage_at_start(const Status& why) {
  const bool of_system =
      why.code() == Code::kIo || why.code() == Code::kOutOfMemory || why.code() == Code::kEngineUnavailable;
  return of_system && why.detail().transient;
}

void log_worker_line(const std::string& line) {
  LogLevel level = LogLevel::kInfo;
  size_t skip = 0;
  for (const auto& [word, l] : {std::pair{"DEBUG ", LogLevel::kDebug}, std::pair{"INFO ", LogLevel::kInfo},
                                std::pair{"WARN ", LogLevel::kWarn}, std::pair{"ERROR ", LogLevel::kError}}) {
    if (!line.starts_with(word)) continue;
    level = l;
    skip = std::string_view(word).size();
  }
  log_line(level, std::string_view(line).substr(skip));
}

// Vectors are comparable only where all of this is equal (L10.4).
std::string vector_space_of(const worker::HelloBody& hello, const worker::LoadedBody& loaded) {
  const std::string parts = loaded.checkpoint_digest + "\n" + loaded.conversion + "\n" + hello.engine + "\n" +
                            hello.numerics + "\n" + hello.dispatch + "\n" + hello.os_build + "\n";
  return "vs1:" + upper_hex(Sha256().update(parts).finish());
}

}  // namespace

void Driver::start_model(std::shared_ptr<LaneModel> model, std::function<void(Status)> done) {
  if (Status held = admit_start(*model); !held.ok()) return done(std::move(held));
  starting_[model.get()] = {model, std::move(done)};
  start_worker(model, 1, [this, raw = model.get()](Status status) {
    const auto it = starting_.find(raw);
    if (it == starting_.end()) return;
    auto told = std::move(it->second.second);
    auto kept = it->second.first;
    starting_.erase(it);
    if (!status.ok()) end_failed_start(kept, status);
    if (const uint64_t wait_ms = note_crash(*kept, status); wait_ms != 0)
      status = std::move(status).with_retry_after(wait_ms);
    told(std::move(status));
  });
}

// A model is the same for the next life if it is in the same place, and the same build reads and runs it in
// the same way. One that was given in memory has no place.
Status Driver::admit_start(LaneModel& model) {
  std::error_code failed;
  // With one slash at the end, however many were given.
  const auto path = (std::filesystem::absolute(model.path, failed) / "").lexically_normal();
  if (model.pack || failed) return {};
  const worker::InitBody init = init_body(*lane_, model.options, 0);
  Sha256 identity;
  for (const std::string& part : {path.string(), init.engine, init.numerics, init.apple_route,
                                  init.mil_dialect, std::string(worker::build_id())})
    identity.update(part + "\n");
  model.crash_key = upper_hex(identity.finish());
  const uint64_t wait_ms = crashes_.held_ms(model.crash_key);
  if (wait_ms == 0) return {};
  return error(Code::kEngineCrashed, "the workers of " + model.name +
                                         " kept ending before they served anything, and one is started at "
                                         "most once a minute; load it again in " +
                                         std::to_string(wait_ms) +
                                         " ms. (Once the cause is mended, it starts at once without " +
                                         crashes_.path() + ")")
      .with_retry_after(wait_ms)
      .with_model(model.name);
}

void Driver::note_service(const LaneModel& model) {
  if (!model.crash_key.empty()) crashes_.served(model.crash_key);
}

// How long the model is held from now on; 0: not at all. A worker of another build is no crash: that error is
// permanent, and says what to do.
uint64_t Driver::note_crash(const LaneModel& model, const Status& why) {
  const bool crash = why.code() == Code::kEngineCrashed || why.code() == Code::kProtocol;
  if (!crash || !why.detail().transient || model.crash_key.empty() || ending_) return 0;
  if (model.link && model.link->stream()->served()) return 0;
  const uint64_t wait_ms = crashes_.crashed(model.crash_key, model.name);
  if (wait_ms != 0)
    log_line(LogLevel::kWarn, "the workers of " + model.name +
                                  " kept ending before they served anything; it is not loaded again for " +
                                  std::to_string(wait_ms) + " ms");
  return wait_ms;
}

void Driver::end_failed_start(const std::shared_ptr<LaneModel>& model, const Status& why) {
  model->set_stream(nullptr);
  if (!model->link) return;
  failed_starts_.push_back(model);
  model->link->fail(why);
  if (model->link) model->link->end(0);
}

void Driver::abandon_start(const std::shared_ptr<LaneModel>& model, const Status& why) {
  drop_start(model, why);
}

void Driver::drop_start(const std::shared_ptr<LaneModel>& model, Status why) {
  const auto it = starting_.find(model.get());
  if (it == starting_.end()) return;
  auto told = std::move(it->second.second);
  starting_.erase(it);
  abort_launch(model.get());
  end_failed_start(model, why);
  told(std::move(why));
}

void Driver::start_worker(std::shared_ptr<LaneModel> model, sched::Generation generation, Started done) {
  const auto shared_abort = std::make_shared<std::atomic<bool>>(false);
  launches_.push_back({{}, model.get(), shared_abort});
  const auto launch = std::prev(launches_.end());
  const LaneModel::ReadHeaders read = std::exchange(model->read_headers, nullptr);  // of the first launch
  // The thread keeps the lane alive: it may outlast a close that was forced.
  auto job = [this, lane = lane_->shared_from_this(), model, generation, done, shared_abort, launch,
              read]() mutable {
    std::shared_ptr<worker::Arena> arena;
    auto headers = std::make_shared<LaneModel::Headers>();
    Result<std::unique_ptr<worker::WorkerHandle>> handle =
        [&]() -> Result<std::unique_ptr<worker::WorkerHandle>> {
      if (read) {
        ANELANE_ASSIGN(*headers, read(*shared_abort));
      }
      if (shared_abort->load()) return error(Code::kCancelled, "the model is not wanted any more");
      const uint64_t bay_bytes = read ? headers->bay_bytes : model->bay_bytes;
      ANELANE_ASSIGN(arena, worker::Arena::create(bay_bytes * kArenaBays));
      if (model->pack) {
        if (!arena->holds(0, model->pack->size()))
          return error(Code::kInternal, "the packed program is larger than the arena");
        std::memcpy(arena->data(), model->pack->data(), model->pack->size());
      }
      worker::LaunchOptions options;
      options.thread_mode = lane->options().thread_mode;
      if (!options.thread_mode) {
        ANELANE_ASSIGN(options.executable, worker::find_worker_executable(lane->options().worker_path));
      }
      options.lock_fd = lane->lock_fd();
      options.arena = arena;
      options.init = init_body(*lane, model->options, arena->size());
      options.timeout_ms = limits::kSpawnMs;
      options.abort = shared_abort.get();
      return worker::launch_worker(options);
    }();
    auto result = std::make_shared<Result<std::unique_ptr<worker::WorkerHandle>>>(std::move(handle));
    lane->loop().post([this, lane, model, generation, done, arena, launch, result, headers,
                       fresh = read != nullptr]() mutable {
      launch->thread.join();
      launches_.erase(launch);
      if (fresh && result->ok()) model->take_headers(std::move(*headers));
      launched(model, generation, std::move(*result), arena, done);
      check_all_gone();
    });
  };
  auto thread = start_quiet_thread(std::move(job));
  if (!thread.ok()) {
    launches_.erase(launch);
    done(std::move(thread).status());
    return;
  }
  launch->thread = std::move(*thread);
}

void Driver::launched(std::shared_ptr<LaneModel> model, sched::Generation generation,
                      Result<std::unique_ptr<worker::WorkerHandle>> handle,
                      std::shared_ptr<worker::Arena> arena, Started done) {
  if (!handle.ok()) return done(std::move(handle).status());
  // Not wanted any more: the handle's destructor ends the process.
  if (ending_) return done(lane_->closed_status());
  if (generation == 1 && !starting_.contains(model.get())) return;
  auto stream =
      std::make_shared<WorkerStream>(*std::move(handle), std::move(arena), model->bay_bytes, generation);
  auto link = WorkerLink::open(&lane_->loop(), stream, link_events(model, generation));
  if (!link.ok()) return done(std::move(link).status());
  if (model->link) model->link->close();
  model->link = *link;
  model->generation = generation;
  if (model->phase.load() == LaneModel::Phase::kRetiring) return model->link->end(0);  // retired meanwhile

  worker::LoadBody load;
  load.path = model->path;
  load.name = model->name;
  load.rungs = model->options.rungs;
  load.shapes_per_model = options_.shapes_per_model;
  WorkerLink::Exchange x;
  load.pack_bytes = model->pack ? model->pack->size() : 0;
  x.frame.type = worker::FrameType::kLoad;
  x.frame.body = worker::to_json(load).dump();
  x.timeout_ms = limits::kLoadExchangeMs;
  x.done = [this, model, done](Result<worker::Frame> reply) { loaded(model, std::move(reply), done); };
  model->link->submit(std::move(x));
}

void Driver::loaded(const std::shared_ptr<LaneModel>& model, Result<worker::Frame> reply,
                    const Started& done) {
  if (!reply.ok()) return done(std::move(reply).status());
  Status failed;
  if (reply->type == worker::FrameType::kFailed) {
    Status bad = worker::parse_failed(reply->body, &failed);
    return done(bad.ok() ? failed : bad);
  }
  if (reply->type != worker::FrameType::kLoaded)
    return done(error(Code::kProtocol, "the worker answered a load with a frame of another kind"));
  auto report = worker::parse_loaded(reply->body);
  if (!report.ok()) return done(std::move(report).status());
  done(take_report(model, *report));
}

// The first report makes the model known to the scheduler; a replacement's must say the same.
Status Driver::take_report(const std::shared_ptr<LaneModel>& model, const worker::LoadedBody& report) {
  const ModelSummary& expected = model->summary;
  if (report.ladder != expected.ladder || report.layers != expected.layers || report.dim != expected.dim ||
      report.width != expected.width || report.ceiling != expected.ceiling ||
      report.vocab != expected.vocab || report.kind != static_cast<int32_t>(expected.kind) ||
      report.conversion != expected.conversion)
    return error(Code::kModelInvalid,
                 model->path +
                     ": the worker read another model than the library did; was the folder "
                     "changed? Load it again");
  const auto stream = model->link->stream();
  const worker::HelloBody& hello = stream->handle().hello();
  const std::string space = vector_space_of(hello, report);
  if (!model->vector_space.empty() && space != model->vector_space)
    return error(Code::kModelInvalid,
                 model->path +
                     ": the checkpoint or the engine is another one than before; retire the model "
                     "and load it again");
  uint32_t mask = 0;
  if (report.cached_shapes)
    for (size_t i = 0; i < expected.ladder.size(); ++i)
      if (std::find(report.cached_shapes->begin(), report.cached_shapes->end(), expected.ladder[i]) !=
          report.cached_shapes->end())
        mask |= 1u << i;
  model->cached_rungs.store(mask);
  if (model->worker == 0) {
    ANELANE_TRY(publish_core(model));
    model->engine = hello.engine;
    model->vector_space = space;
    sched::WorkerSpec spec;
    spec.name = model->name;
    spec.program = space;  // the same checkpoint, conversion and engine: the same programs
    spec.layers = report.layers;
    spec.ladder = report.ladder;
    spec.reports_cache = report.cached_shapes.has_value();
    spec.prewarm = options_.prewarm;
    spec.gates = model->core->gates.data();
    for (size_t i = 0; i < report.ladder.size(); ++i) {
      // The table is of the Neural Engine's compiler and of encoders' layers; what the soft engine takes is
      // learned at the first compile.
      spec.seed_compile[i] = hello.engine == "apple" && expected.kind != ModelKind::kProgram
                                 ? sched::seed_compile_cost(report.layers, report.width, report.ladder[i])
                                 : sched::kUnknown;
      spec.seed_load[i] = sched::seed_load_cost(report.layers);
    }
    model->worker = scheduler_->add_worker(spec);
    models_.emplace(model->worker, model);
    model->phase.store(LaneModel::Phase::kReady);
  }
  model->set_stream(stream);
  model->asked_for_idle = false;
  model->last_fault.clear();
  model->files_changed = false;
  Event e;
  e.kind = EventKind::kWorkerReady;
  e.worker = model->worker;
  e.generation = model->generation;
  e.mask = mask;
  feed(e);
  return {};
}

// From here on callers can find the model by its handle.
Status Driver::publish_core(const std::shared_ptr<LaneModel>& model) {
  ModelCore* core = claim_core();
  if (core == nullptr)
    return error(Code::kResourcesExhausted,
                 "this process has " + std::to_string(kMaxCores) + " models already; retire some");
  model->core = core;
  model->core_generation = core->generation.load(std::memory_order_relaxed);
  const auto& ladder = model->summary.ladder;
  for (size_t i = 0; i < ladder.size(); ++i) {
    core->ladder[i].store(ladder[i], std::memory_order_relaxed);
    core->leases[i].prepare();
  }
  core->rungs.store(static_cast<uint32_t>(ladder.size()), std::memory_order_release);
  core->ticking.store(ticking_);
  core->coarse_now.store(now_us(), std::memory_order_relaxed);
  std::lock_guard lock(core->mutex);
  core->model = model;
  return {};
}

WorkerLink::Events Driver::link_events(const std::shared_ptr<LaneModel>& model,
                                       sched::Generation generation) {
  WorkerLink::Events events;
  std::weak_ptr<LaneModel> weak = model;
  events.fault = [this, weak, generation](const Status& why) {
    auto m = weak.lock();
    if (!m || m->generation != generation) return;
    m->set_stream(nullptr);
    m->last_fault = why.message();
    if (m->worker == 0 && is_given_up(why.code()))
      log_line(LogLevel::kInfo,
               "the load of " + m->name + " is given up and its worker ends: " + why.message());
    else
      log_line(LogLevel::kWarn, "worker of " + m->name + " faulted: " + why.message());
    if (m->worker == 0) return;  // its load is told through the exchange
    if (m->phase.load() == LaneModel::Phase::kReady) note_crash(*m, why);
    Event e;
    e.kind = EventKind::kFault;
    e.worker = m->worker;
    e.generation = generation;
    feed(e);
  };
  events.exited = [this, weak, generation] {
    if (auto m = weak.lock()) link_gone(m, generation);
  };
  events.log = log_worker_line;
  events.idle = [this, weak] {
    auto m = weak.lock();
    if (!m || m->worker == 0) return;
    Event e;
    e.kind = EventKind::kStreamIdle;
    e.worker = m->worker;
    feed(e);
  };
  return events;
}

void Driver::link_gone(const std::shared_ptr<LaneModel>& model, sched::Generation generation) {
  if (model->generation != generation) return;
  model->set_stream(nullptr);
  auto link = std::move(model->link);
  if (link && !link->lost_how().empty()) {
    model->last_fault = link->lost_how();
    log_line(LogLevel::kWarn, "worker of " + model->name + ": " + model->last_fault);
  }
  if (link) link->close();
  if (model->worker != 0) {
    Event e;
    e.kind = EventKind::kExitConfirmed;
    e.worker = model->worker;
    e.generation = generation;
    feed(e);
  }
  failed_starts_.remove(model);
  check_all_gone();
}

void Driver::fault(const std::shared_ptr<LaneModel>& model, sched::Generation generation, Status why) {
  if (model->generation == generation && model->link) model->link->fail(std::move(why));
}

void Driver::recover(const sched::Action& action) {
  auto model = model_of(action.worker);
  if (!model || model->generation != action.generation) return;
  if (!model->link) return;  // its exit was confirmed already, and will be told
  // A link that reports no fault by itself is in order: a planned restart (L4.15) is no crash (L6.4).
  model->set_stream(nullptr);
  model->link->end(limits::kExitAskMs);
}

void Driver::abort_launch(const LaneModel* model) {
  for (Launch& launch : launches_)
    if (launch.model == model) launch.abort->store(true);
}

// Retired. One that is still being started is given up, or ends as soon as it is up (launched).
void Driver::close_worker(const sched::Action& action) {
  const auto model = model_of(action.worker);
  if (!model) return;
  if (model->link) return model->link->end(limits::kExitAskMs);
  abort_launch(model.get());
}

void Driver::spawn(const sched::Action& action) {
  auto model = model_of(action.worker);
  if (!model) return;
  start_worker(model, action.generation, [this, model, generation = action.generation](Status status) {
    if (status.ok() || ending_) return;
    model->last_fault = status.message();
    model->files_changed = status.code() == Code::kModelInvalid;
    if (model->phase.load() == LaneModel::Phase::kReady)
      log_line(LogLevel::kWarn, "a new worker for " + model->name + " did not start: " + status.message());
    Event e;
    e.worker = model->worker;
    e.generation = generation;
    if (model->generation == generation && model->link) {
      // The process is there but not fit for use: end it as after a fault.
      e.kind = EventKind::kFault;
      feed(e);
      if (model->link) {
        model->link->fail(std::move(status));
        model->link->end(limits::kExitAskMs);
      }
      return;
    }
    e.kind = EventKind::kStartFailed;
    if (is_shortage_at_start(status)) e.code = Code::kResourcesExhausted;
    note_crash(*model, status);
    feed(e);
  });
}

// ---- the end ----

void Driver::end_workers(std::function<void()> all_gone) {
  ending_ = true;
  all_gone_ = std::move(all_gone);
  for (Launch& launch : launches_) launch.abort->store(true);
  auto starting = starting_;
  for (auto& [raw, entry] : starting) drop_start(entry.first, lane_->closed_status());
  const auto models = models_;
  for (auto& [id, model] : models) {
    model->set_stream(nullptr);
    if (model->link) model->link->end(UINT32_MAX);  // the close decides when to use force
  }
  check_all_gone();
}

void Driver::kill_workers() {
  for (auto& [id, model] : models_)
    if (model->link) model->link->stream()->handle().kill();
  for (auto& model : failed_starts_)
    if (model->link) model->link->stream()->handle().kill();
}

void Driver::check_all_gone() {
  if (!all_gone_ || !launches_.empty() || !failed_starts_.empty()) return;
  for (auto& [id, model] : models_)
    if (model->link) return;
  auto told = std::move(all_gone_);
  all_gone_ = nullptr;
  told();
}

bool Driver::drop_workers() {
  all_gone_ = nullptr;
  bool left = !launches_.empty();  // a worker that the system has not let begin
  for (auto& model : failed_starts_) {
    left = left || (model->link && !model->link->gone());
    if (model->link) model->link->close();
    model->link.reset();
  }
  failed_starts_.clear();
  for (auto& [id, model] : models_) retired_.push_back(model);
  for (auto& model : retired_) {
    if (model->link) {
      left = left || !model->link->gone();
      model->link->close();
      model->link.reset();
    }
    model->set_stream(nullptr);
    model->phase.store(LaneModel::Phase::kRetired);
    for (auto& done : model->on_retired) done({});
    model->on_retired.clear();
    ModelCore* core = model->core;
    for (auto& gate : core->gates) gate.force_close();
    {
      std::lock_guard lock(core->mutex);
      core->model.reset();
    }
    return_core(core);
  }
  retired_.clear();
  models_.clear();
  return left;
}

}  // namespace anelane
