// The moves and what they do. A lease ends by its own move or with its exchange; a crash breaks the exchanges
// of its worker, and other leases end with the process, as in world.h.
#include "small_world.h"

#include <algorithm>

#include "core_digest.h"

namespace anelane::sim {

using sched::ActionKind;
using sched::EventKind;

namespace {
constexpr int kRestMovesMax = 2'000;
}

SmallWorld::SmallWorld(const SmallSetup& setup) : setup_(setup), scheduler_(setup.world.options) {
  callers_.resize(setup.asks.size());
  for (const Model& m : setup.world.models) {
    Process p;
    p.worker = scheduler_.add_worker(spec_of(m));
    p.cache = cached_rungs(m);
    processes_.push_back(p);
  }
}

void SmallWorld::begin() {
  for (const Process& p : processes_)
    feed({.kind = EventKind::kWorkerReady, .worker = p.worker, .generation = 1, .mask = p.cache});
}

uint32_t SmallWorld::caller_of(sched::TicketId ticket) const {
  const auto it =
      std::find_if(callers_.begin(), callers_.end(), [&](const Caller& c) { return c.ticket == ticket; });
  return static_cast<uint32_t>(it - callers_.begin());
}

uint32_t SmallWorld::model_of(sched::WorkerId worker) const {
  const auto it = std::find_if(processes_.begin(), processes_.end(),
                               [&](const Process& p) { return p.worker == worker; });
  return static_cast<uint32_t>(it - processes_.begin());
}

size_t SmallWorld::unanswered() const {
  return static_cast<size_t>(std::count_if(callers_.begin(), callers_.end(), [](const Caller& c) {
    return c.fate == Fate::kWaiting || c.fate == Fate::kOffered;
  }));
}

// ---- moves ----

std::vector<Move> SmallWorld::moves() const {
  std::vector<Move> out;
  for (uint32_t i = 0; i < callers_.size(); ++i) {
    const SmallAsk& ask = setup_.asks[i];
    switch (callers_[i].fate) {
      case Fate::kNotAsked:
        out.push_back({MoveKind::kAsk, i});
        break;
      case Fate::kOffered:
        out.push_back({MoveKind::kTake, i});
        [[fallthrough]];
      case Fate::kWaiting:
        if (ask.may_cancel) out.push_back({MoveKind::kCancel, i});
        break;
      case Fate::kLeased:
        if (!ask.exchange) out.push_back({MoveKind::kRelease, i});
        break;
      case Fate::kOver:
        break;
    }
  }
  for (uint32_t m = 0; m < processes_.size(); ++m) add_process_moves(m, &out);
  const Time due = scheduler_.next_due();
  if (due != kNever) out.push_back({MoveKind::kTimer, 0});
  if (ticks_ < setup_.ticks && now_ + setup_.tick < due) out.push_back({MoveKind::kTick, 0});
  return out;
}

void SmallWorld::add_process_moves(uint32_t m, std::vector<Move>* out) const {
  const Process& p = processes_[m];
  switch (p.life) {
    case Life::kServes:
      if (!p.stream.empty() && !p.running) out->push_back({MoveKind::kSend, m});
      if (p.running) {
        out->push_back({MoveKind::kEnd, m});
        const Kind kind = p.stream.front().kind;
        if (kind == Kind::kAdmission && errors_ < setup_.errors) {
          out->push_back({MoveKind::kError, m});
          out->push_back({MoveKind::kFailed, m});
        }
        if (kind == Kind::kAdmission && refusals_ < setup_.refusals) out->push_back({MoveKind::kRefuse, m});
        if (kind == Kind::kEviction && failed_evictions_ < setup_.failed_evictions)
          out->push_back({MoveKind::kError, m});
      }
      if (crashes_ < setup_.crashes) out->push_back({MoveKind::kCrash, m});
      break;
    case Life::kExiting:
      out->push_back({MoveKind::kExit, m});
      break;
    case Life::kStarting:
      out->push_back({MoveKind::kReady, m});
      if (setup_.start_may_fail) out->push_back({MoveKind::kStartFails, m});
      break;
    case Life::kGone:
    case Life::kRetired:
      break;
  }
  // Not while the same thing runs again: its answers carry another request id.
  if (p.last_answer.kind != EventKind::kTimer && duplicates_ < setup_.duplicates && !p.running)
    out->push_back({MoveKind::kDuplicate, m});
  if (retires_ < setup_.retires && p.life != Life::kRetired) out->push_back({MoveKind::kRetire, m});
}

void SmallWorld::make(const Move& move) {
  switch (move.kind) {
    case MoveKind::kAsk:
      return ask(move.who);
    case MoveKind::kCancel:
      return feed({.kind = EventKind::kCancel, .ticket = callers_[move.who].ticket});
    case MoveKind::kTake:
      return feed({.kind = EventKind::kTake, .ticket = callers_[move.who].ticket});
    case MoveKind::kRelease:
      return end_lease(move.who);
    case MoveKind::kSend:
      return send(move.who);
    case MoveKind::kEnd:
    case MoveKind::kError:
    case MoveKind::kFailed:
    case MoveKind::kRefuse:
      return end_exchange(move.who, move.kind);
    case MoveKind::kDuplicate:
      ++duplicates_;
      return feed(processes_[move.who].last_answer);
    case MoveKind::kCrash:
      return crash(move.who);
    case MoveKind::kExit:
      return exit_process(move.who);
    case MoveKind::kReady:
    case MoveKind::kStartFails: {
      Process& p = processes_[move.who];
      p.life = move.kind == MoveKind::kReady ? Life::kServes : Life::kGone;
      const EventKind kind =
          move.kind == MoveKind::kReady ? EventKind::kWorkerReady : EventKind::kStartFailed;
      return feed({.kind = kind, .worker = p.worker, .generation = p.generation, .mask = p.cache});
    }
    case MoveKind::kRetire:
      ++retires_;
      return feed({.kind = EventKind::kRetire, .worker = processes_[move.who].worker});
    case MoveKind::kTick:
      ++ticks_;
      now_ += setup_.tick;
      return;
    case MoveKind::kTimer:
      now_ = std::max(now_, scheduler_.next_due());
      return feed({.kind = EventKind::kTimer});
  }
}

void SmallWorld::send(uint32_t m) {
  Process& p = processes_[m];
  p.running = true;
  const Exchange& x = p.stream.front();
  if (x.kind == Kind::kInference) return;
  const EventKind sent = x.kind == Kind::kAdmission ? EventKind::kAdmissionSent : EventKind::kEvictionSent;
  feed({.kind = sent, .worker = p.worker, .generation = p.generation, .rung = x.rung});
}

void SmallWorld::send_all() {
  for (uint32_t m = 0; m < processes_.size(); ++m) {
    const Process& p = processes_[m];
    if (p.life == Life::kServes && !p.stream.empty() && !p.running) send(m);
  }
}

void SmallWorld::ask(uint32_t i) {
  const SmallAsk& a = setup_.asks[i];
  callers_[i] = {Fate::kWaiting, ++last_ticket_, 0};
  feed({.kind = EventKind::kRequest,
        .worker = processes_[a.model].worker,
        .rung = a.rung,
        .ticket = last_ticket_,
        .deadline = a.patience == kNever ? kNever : now_ + a.patience,
        .take_at_once = !a.lazy});
}

void SmallWorld::end_exchange(uint32_t m, MoveKind how) {
  Process& p = processes_[m];
  const Exchange x = p.stream.front();
  p.stream.pop_front();
  p.running = false;
  if (x.kind == Kind::kInference)
    end_lease(x.ask);
  else
    answer(m, x, how);
  if (p.stream.empty()) feed({.kind = EventKind::kStreamIdle, .worker = p.worker});
}

void SmallWorld::answer(uint32_t m, const Exchange& x, MoveKind how) {
  Process& p = processes_[m];
  sched::Event e{.worker = p.worker, .generation = p.generation, .rung = x.rung};
  e.kind = x.kind == Kind::kAdmission ? EventKind::kAdmissionDone : EventKind::kEvictionDone;
  if (how == MoveKind::kError && x.kind == Kind::kEviction) {
    ++failed_evictions_;
    e.code = Code::kInternal;
  } else if (how == MoveKind::kError || how == MoveKind::kFailed) {
    ++errors_;
    e.code = Code::kCompileFailed;
    e.permanent = how == MoveKind::kFailed;
  } else if (how == MoveKind::kRefuse) {
    ++refusals_;
    e.code = Code::kResourcesExhausted;
  } else if (x.kind == Kind::kAdmission) {
    const bool loads = (p.cache >> x.rung & 1u) != 0;
    const Model& model = setup_.world.models[m];
    if (model.reports_cache) (loads ? e.cache_hit : e.compiled) = model.layers;
    p.cache |= 1u << x.rung;
    e.learn = setup_.learns;
  }
  if (setup_.duplicates > 0) p.last_answer = e;
  feed(e);
}

void SmallWorld::end_lease(uint32_t i) {
  Caller& c = callers_[i];
  if (c.fate != Fate::kLeased) return;
  c.fate = Fate::kOver;
  const SmallAsk& a = setup_.asks[i];
  const sched::WorkerId worker = processes_[a.model].worker;
  scheduler_.publish(now_);
  const bool wake = scheduler_.gate(worker, a.rung).release(c.epoch, scheduler_.coarse_now());
  if (watcher_ != nullptr) watcher_->released(now_, a.model, a.rung, wake);
  if (wake) feed({.kind = EventKind::kReleased, .worker = worker, .rung = a.rung});
}

void SmallWorld::crash(uint32_t m) {
  ++crashes_;
  Process& p = processes_[m];
  p.life = Life::kExiting;
  p.running = false;
  const std::deque<Exchange> broken = std::move(p.stream);
  p.stream.clear();
  for (const Exchange& x : broken) {
    if (x.kind != Kind::kInference || callers_[x.ask].fate != Fate::kLeased) continue;
    callers_[x.ask].fate = Fate::kOver;
    scheduler_.publish(now_);
    scheduler_.gate(p.worker, x.rung).release(callers_[x.ask].epoch, scheduler_.coarse_now());
  }
  const sched::Event fault{.kind = EventKind::kFault, .worker = p.worker, .generation = p.generation};
  if (setup_.duplicates > 0) p.last_answer = fault;
  feed(fault);
}

void SmallWorld::exit_process(uint32_t m) {
  Process& p = processes_[m];
  p.life = Life::kGone;
  p.stream.clear();
  p.running = false;
  for (uint32_t i = 0; i < callers_.size(); ++i)
    if (callers_[i].fate == Fate::kLeased && setup_.asks[i].model == m) callers_[i].fate = Fate::kOver;
  feed({.kind = EventKind::kExitConfirmed, .worker = p.worker, .generation = p.generation});
}

// ---- the scheduler ----

void SmallWorld::feed(const sched::Event& event) {
  events_.push_back(event);
  if (feeding_) return;
  feeding_ = true;
  while (!events_.empty()) {
    const sched::Event next = events_.front();
    events_.pop_front();
    step(next);
    if (!setup_.sends_wait) send_all();
  }
  feeding_ = false;
}

void SmallWorld::step(const sched::Event& event) {
  ++steps_;
  for (const Process& p : processes_) {
    uint32_t blocked = 0;
    bool behind = false;
    for (const Exchange& x : p.stream) {
      behind |= x.kind == Kind::kAdmission;
      if (x.kind == Kind::kInference && behind) blocked |= 1u << x.rung;
    }
    scheduler_.set_stream_hint(p.worker, p.stream.empty());
    scheduler_.set_blocked_leases(p.worker, blocked);
  }
  if (watcher_ != nullptr) watcher_->before(now_, event);
  const std::span<const sched::Action> span = scheduler_.step(now_, event);
  if (watcher_ != nullptr) watcher_->after(now_, event, span);
  const std::vector<sched::Action> actions(span.begin(), span.end());
  for (const sched::Action& a : actions) carry_out(a);
}

void SmallWorld::withdraw(Process& p, Kind kind, uint32_t rung) {
  const auto it = std::find_if(p.stream.begin() + (p.running ? 1 : 0), p.stream.end(),
                               [&](const Exchange& x) { return x.kind == kind && x.rung == rung; });
  if (it != p.stream.end()) p.stream.erase(it);
}

void SmallWorld::carry_out(const sched::Action& a) {
  if (a.kind == ActionKind::kGrant || a.kind == ActionKind::kOffer || a.kind == ActionKind::kAnswer) {
    const uint32_t i = caller_of(a.ticket);
    if (i == callers_.size()) return;
    Caller& c = callers_[i];
    c.fate = a.kind == ActionKind::kGrant   ? Fate::kLeased
             : a.kind == ActionKind::kOffer ? Fate::kOffered
                                            : Fate::kOver;
    if (a.kind != ActionKind::kGrant) return;
    Process& p = processes_[model_of(a.worker)];
    c.epoch = scheduler_.gate(a.worker, a.rung).epoch();
    if (setup_.asks[i].exchange) p.stream.push_back({Kind::kInference, a.rung, i});
    return;
  }
  Process& p = processes_[model_of(a.worker)];
  switch (a.kind) {
    case ActionKind::kStartAdmission:
      return p.stream.push_back({Kind::kAdmission, a.rung});
    case ActionKind::kStartEviction:
      return p.stream.push_back({Kind::kEviction, a.rung});
    case ActionKind::kWithdrawAdmission:
      return withdraw(p, Kind::kAdmission, a.rung);
    case ActionKind::kWithdrawEviction:
      return withdraw(p, Kind::kEviction, a.rung);
    case ActionKind::kRecover:
    case ActionKind::kCloseWorker:
      p.life = Life::kExiting;
      return;
    case ActionKind::kSpawn:
      p.generation = a.generation;
      p.life = Life::kStarting;
      return;
    case ActionKind::kRetired:
      p.life = Life::kRetired;
      return;
    default:
      return;
  }
}

// ---- the end ----

// The next thing that is bound to end by itself, or that a caller does who goes away.
bool SmallWorld::ending_move(Move* out) const {
  for (uint32_t i = 0; i < callers_.size(); ++i) {
    if (callers_[i].fate == Fate::kLeased && !setup_.asks[i].exchange) {
      *out = {MoveKind::kRelease, i};
      return true;
    }
  }
  for (uint32_t m = 0; m < processes_.size(); ++m) {
    const Process& p = processes_[m];
    if (p.life == Life::kServes && !p.stream.empty()) {
      *out = {p.running ? MoveKind::kEnd : MoveKind::kSend, m};
      return true;
    }
    if (p.life == Life::kExiting || p.life == Life::kStarting) {
      *out = {p.life == Life::kExiting ? MoveKind::kExit : MoveKind::kReady, m};
      return true;
    }
  }
  return false;
}

bool SmallWorld::come_to_rest() {
  for (int i = 0; i < kRestMovesMax; ++i) {
    Move move;
    if (!ending_move(&move)) {
      if (scheduler_.next_due() == kNever) return true;
      move = {MoveKind::kTimer, 0};
    }
    make(move);
    if (!scheduler_.broken().empty()) return true;
  }
  return false;
}

uint64_t SmallWorld::digest() const {
  uint64_t h = sched::CoreDigest::of(scheduler_);
  const auto add = [&h](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull, h ^= h >> 29; };
  for (const Process& p : processes_) {
    add(static_cast<uint64_t>(p.life) | uint64_t{p.running} << 8 | uint64_t{p.cache} << 16);
    for (const Exchange& x : p.stream) add(static_cast<uint64_t>(x.kind) << 32 | x.rung << 8 | x.ask);
    const sched::Event& e = p.last_answer;
    if (e.kind != EventKind::kTimer)
      add(static_cast<uint64_t>(e.kind) << 48 | static_cast<uint64_t>(e.code) << 32 | e.rung << 1 |
          (e.generation == p.generation ? 1u : 0u));
    add(0x57ea);
  }
  for (uint32_t i = 0; i < callers_.size(); ++i) {
    const Caller& c = callers_[i];
    const SmallAsk& a = setup_.asks[i];
    const bool fresh =
        c.fate == Fate::kLeased &&
        const_cast<sched::Scheduler&>(scheduler_).gate(processes_[a.model].worker, a.rung).epoch() == c.epoch;
    uint64_t before = 0;  // whose tickets are older
    for (const Caller& other : callers_)
      before += other.ticket != 0 && other.ticket < c.ticket && other.fate != Fate::kOver ? 1 : 0;
    add(static_cast<uint64_t>(c.fate) | uint64_t{fresh} << 8 | (c.fate == Fate::kOver ? 0 : before) << 16);
  }
  for (const int n : {ticks_, crashes_, errors_, refusals_, failed_evictions_, duplicates_, retires_})
    add(static_cast<uint64_t>(n));
  add(static_cast<uint64_t>(now_ - scheduler_.coarse_now().load()));
  return h;
}

std::string SmallWorld::describe(const Move& move) const {
  static constexpr const char* kWords[] = {"asks for",
                                           "is cancelled",
                                           "takes its lease",
                                           "releases its lease",
                                           "its worker begins",
                                           "ends well",
                                           "ends with an error",
                                           "ends with a deterministic error",
                                           "is refused for resources",
                                           "its last news come once more",
                                           "crashes",
                                           "its process is gone",
                                           "is ready again",
                                           "does not start",
                                           "is retired",
                                           "time passes",
                                           "a timer"};
  char time[32];
  std::snprintf(time, sizeof time, "%10.3f s  ", static_cast<double>(now_) / 1e6);
  const std::string words = kWords[static_cast<size_t>(move.kind)];
  if (move.kind >= MoveKind::kTick) return time + words;
  const auto shape = [&](uint32_t model, uint32_t rung) {
    const Model& m = setup_.world.models[model];
    return m.name + ":" + std::to_string(m.rungs[rung].shape);
  };
  if (move.kind <= MoveKind::kRelease) {
    std::string out = time + ("#" + std::to_string(move.who + 1)) + " " + words;
    const SmallAsk& a = setup_.asks[move.who];
    return move.kind == MoveKind::kAsk ? out + " " + shape(a.model, a.rung) : out;
  }
  const Process& p = processes_[move.who];
  if (move.kind < MoveKind::kDuplicate && !p.stream.empty()) {
    static constexpr const char* kKinds[] = {"admission of ", "eviction of ", "inference on "};
    const Exchange& x = p.stream.front();
    return time + (kKinds[static_cast<size_t>(x.kind)] + shape(move.who, x.rung)) + " " +
           (move.kind == MoveKind::kSend ? "begins" : words);
  }
  return time + setup_.world.models[move.who].name + " " + words;
}

}  // namespace anelane::sim
