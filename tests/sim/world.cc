// The clock and the order of things; what single things do stands in world_workers.cc and world_callers.cc.
#include "world.h"

#include <algorithm>

namespace anelane::sim {
namespace {
// Order at one instant (sim-format): exchanges, exits and restarts, releases. The scheduler's timers come
// after these, happenings from outside last.
constexpr uint8_t kRanks[] = {0, 1, 1, 2, 2};
}  // namespace

World::World(const Workload& workload, Habits habits)
    : workload_(workload), habits_(habits), scheduler_(workload.options) {}
World::~World() = default;

void World::load_models() {
  for (uint32_t i = 0; i < workload_.models.size(); ++i) {
    const Model& m = workload_.models[i];
    Process p;
    p.worker = scheduler_.add_worker(spec_of(m));
    p.daemon_cache = cached_rungs(m);
    models_of_[p.worker] = i;
    processes_.push_back(std::move(p));
  }
  for (const Process& p : processes_)
    feed({.kind = sched::EventKind::kWorkerReady,
          .worker = p.worker,
          .generation = 1,
          .mask = p.daemon_cache});
}

void World::run() {
  run_to(workload_.until);
  if (workload_.until != kNever) now_ = std::max(now_, workload_.until);
  report_open();
}

void World::run_to(Time until) {
  if (processes_.empty() && !workload_.models.empty()) load_models();
  for (;;) {
    const Time outside =
        next_happening_ < workload_.happenings.size() ? workload_.happenings[next_happening_].t : kNever;
    const Time inside = due_.empty() ? kNever : due_.top().t;
    const Time timer = scheduler_.next_due();
    const Time next = std::min({outside, inside, timer});
    if (next == kNever || next > until) break;
    now_ = std::max(now_, next);
    if (inside <= now_) {
      const Item item = due_.top();
      due_.pop();
      fire(item);
    } else if (timer <= now_) {
      feed({.kind = sched::EventKind::kTimer});
    } else {
      happen(Happening(workload_.happenings[next_happening_++]));
    }
    if (!scheduler_.broken().empty()) break;
  }
  if (until != kNever) now_ = std::max(now_, until);
}

void World::add(const Happening& h) {
  auto& all = workload_.happenings;
  const auto at = std::upper_bound(all.begin() + static_cast<std::ptrdiff_t>(next_happening_), all.end(), h,
                                   [](const Happening& a, const Happening& b) { return a.t < b.t; });
  all.insert(at, h);
}

void World::schedule(Time t, Due due, uint32_t model, uint64_t what) {
  due_.push({t, kRanks[static_cast<size_t>(due)], ++seq_, due, model, what});
}

// Events wait for the actions of the one before them.
void World::feed(const sched::Event& event) {
  events_.push_back(event);
  if (feeding_) return;
  feeding_ = true;
  while (!events_.empty()) {
    const sched::Event next = events_.front();
    events_.pop_front();
    step(next);
  }
  feeding_ = false;
}

void World::step(const sched::Event& event) {
  ++steps_;
  for (uint32_t m = 0; m < processes_.size(); ++m) set_hints(m);
  if (watcher_ != nullptr) watcher_->before(now_, event);
  const std::span<const sched::Action> span = scheduler_.step(now_, event);
  if (watcher_ != nullptr) watcher_->after(now_, event, span);
  for (const sched::Action& a : span) carry_out(a);  // leads to no step: further events wait
  pump_all();
}

void World::set_hints(uint32_t model) {
  const Process& p = processes_[model];
  uint32_t blocked = 0;
  bool behind = false;
  for (const Exchange& x : p.stream) {
    if (x.kind == Kind::kAdmission) behind = true;
    if (x.kind == Kind::kInference && behind) blocked |= 1u << x.rung;
  }
  scheduler_.set_stream_hint(p.worker, p.stream.empty());
  scheduler_.set_blocked_leases(p.worker, blocked);
}

void World::pump_all() {
  for (uint32_t m = 0; m < processes_.size(); ++m) pump(m);
}

void World::fire(const Item& item) {
  Process& p = processes_[item.model];
  switch (item.due) {
    case Due::kExchangeEnd:
      if (p.running && p.run_id == item.what) exchange_ended(item.model);
      return;
    case Due::kExit:
      if (p.exiting && p.generation == item.what) exit_process(item.model);
      return;
    case Due::kReady:
      if (p.retired || p.generation != item.what || p.alive) return;
      p.alive = true;
      p.restart = 0;
      print({.t = now_, .ev = Ev::kReady, .model = item.model});
      return feed({.kind = sched::EventKind::kWorkerReady,
                   .worker = p.worker,
                   .generation = p.generation,
                   .mask = p.daemon_cache});
    case Due::kTake:
      if (const auto it = waiting_.find(item.what); it != waiting_.end())
        feed({.kind = sched::EventKind::kTake, .ticket = it->second.ticket});
      return;
    case Due::kRelease:
      if (const auto it = leases_.find(item.what); it != leases_.end() && !it->second.exchange)
        drop_lease(item.what, true, true);
      return;
  }
}

void World::happen(const Happening& h) {
  switch (h.op) {
    case Op::kRequest:
      return request(h);
    case Op::kCancel:
      return cancel(h.id);
    case Op::kRelease:
      if (const auto it = leases_.find(h.id); it != leases_.end() && !it->second.exchange)
        drop_lease(h.id, true, true);
      return;
    case Op::kFault:
      return fault(h);
    case Op::kRetire:
      return feed({.kind = sched::EventKind::kRetire, .worker = processes_[h.model].worker});
    case Op::kUncache:
      processes_[h.model].daemon_cache &= ~(1u << h.rung);
      return;
  }
}

void World::print(LogLine line) {
  if (keep_records_) log_.push_back(std::move(line));
}

void World::report_open() {
  std::vector<uint64_t> open;
  for (const auto& [id, r] : waiting_) open.push_back(id);
  std::sort(open.begin(), open.end());
  for (const uint64_t id : open) print({.t = now_, .ev = Ev::kOpen, .id = id});
}

double World::chance() {
  uint64_t x = habits_.seed + ++draws_ * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

}  // namespace anelane::sim
