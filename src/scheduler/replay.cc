// One line after the other, in one pass; the first difference ends it, because everything after it would
// differ too. A record may end anywhere at the end of a line: whoever wrote it may have been killed.
#include "scheduler/replay.h"

#include <memory>

#include "scheduler/history.h"

namespace anelane::sched {
namespace {

class Player : public Observer {
 public:
  Status line(const Json& json);
  Replay take() { return std::move(replay_); }
  bool over() const { return !replay_.difference.empty() || !replay_.ended.empty(); }
  const Replay& so_far() const { return replay_; }

  uint64_t read(WorkerId worker, uint32_t rung, Read what, uint64_t value) override {
    if (next_word_ < words_->size()) {
      const Json::Array& w = (*words_)[next_word_++].as_array();
      if (w.size() == 4 && w[0].as_int(-1) == worker && w[1].as_int(-1) == rung &&
          w[2].as_int(-1) == static_cast<int>(what) && w[3].is_int())
        return static_cast<uint64_t>(w[3].as_int());
    }
    if (strange_word_.empty())
      strange_word_ = "the scheduler now reads another word of slot " + std::to_string(worker) + ":" +
                      std::to_string(rung) + " than the one recorded";
    return value;
  }

 private:
  Status first_line(const Json& json);
  Status worker(const Json& json);
  Status hints(const Json& json);
  Status step(const Json& json);

  std::unique_ptr<Scheduler> scheduler_;
  WorkerId workers_ = 0;
  const Json::Array* words_ = nullptr;
  size_t next_word_ = 0;
  std::string strange_word_;
  Replay replay_;
};

Status Player::line(const Json& json) {
  if (!json.is_object()) return error(Code::kInvalidArgument, "is no JSON object");
  if (!scheduler_) return first_line(json);
  if (json.find("ev") != nullptr) return step(json);
  if (json.find("worker") != nullptr) return worker(json);
  if (const Json* id = json.find("forget")) {
    scheduler_->forget(static_cast<WorkerId>(id->as_int()));
    return {};
  }
  if (const Json* why = json.find("end")) {
    replay_.ended = why->as_string().empty() ? "?" : why->as_string();
    return {};
  }
  return error(Code::kInvalidArgument, "is no line of a history");
}

Status Player::first_line(const Json& json) {
  const Json& version = json.at("anelane_history");  // kHistoryStart says that it is there
  if (version.as_int() != kHistoryVersion)
    return error(Code::kInvalidArgument, "is of version " + version.dump() + "; this build replays version " +
                                             std::to_string(kHistoryVersion));
  ANELANE_ASSIGN(const Options options, parse_options(json.at("options")));
  scheduler_ = std::make_unique<Scheduler>(options);
  scheduler_->observe(this);
  return {};
}

Status Player::worker(const Json& json) {
  ANELANE_ASSIGN(const WorkerSpec spec, parse_worker(json));
  if (json.at("worker").as_int(-1) != static_cast<int64_t>(workers_) + 1)
    return error(Code::kInvalidArgument, "\"worker\" is not the next worker's number");
  workers_ = scheduler_->add_worker(spec);
  return {};
}

Status Player::hints(const Json& json) {
  for (const Json& hint : json.at("hints").as_array()) {
    const Json::Array& h = hint.as_array();
    if (h.size() != 3) return error(Code::kInvalidArgument, "\"hints\" holds what is no hint");
    const auto id = static_cast<WorkerId>(h[0].as_int());
    scheduler_->set_stream_hint(id, h[1].as_int() != 0);
    scheduler_->set_blocked_leases(id, static_cast<uint32_t>(h[2].as_int()));
  }
  return {};
}

Status Player::step(const Json& json) {
  ANELANE_ASSIGN(const auto timed, parse_event(json));
  ANELANE_TRY(hints(json));
  words_ = &json.at("words").as_array();
  next_word_ = 0;
  const std::span<const Action> actions = scheduler_->step(timed.first, timed.second);
  ++replay_.steps;
  const Json::Array& recorded = json.at("do").as_array();
  for (size_t i = 0; i < actions.size() || i < recorded.size(); ++i) {
    const std::string now = i < actions.size() ? action_text(actions[i]) : "nothing more";
    const std::string then = i < recorded.size() ? recorded[i].as_string() : "nothing more";
    if (now == then) continue;
    replay_.difference = "recorded: " + then + "; decided now: " + now;
    return {};
  }
  if (strange_word_.empty() && next_word_ != words_->size())
    strange_word_ = "the scheduler now reads fewer words of the slots than were recorded";
  replay_.difference = strange_word_;
  return {};
}

}  // namespace

Result<Replay> replay_history(std::string_view text, std::string_view name) {
  Player player;
  uint64_t number = 0;
  while (!text.empty() && !player.over()) {
    const std::string where = std::string(name) + ":" + std::to_string(++number);
    const size_t end = text.find('\n');
    if (number == 1 && !text.starts_with(kHistoryStart))
      return error(Code::kInvalidArgument, where + ": this is no record of a lane: a record begins with " +
                                               std::string(kHistoryStart) +
                                               "; the lane option record_path makes one");
    if (end == std::string_view::npos)
      return error(Code::kInvalidArgument,
                   where + ": the file ends in the middle of this line; the " +
                       std::to_string(player.so_far().steps) +
                       " steps before it lead to the same actions. Cut the line off to replay only them");
    Result<Json> json = parse_json(text.substr(0, end), where);
    if (!json.ok()) return json.status();
    if (Status status = player.line(*json); !status.ok())
      return error(status.code(), where + ": " + status.message());
    text.remove_prefix(end + 1);
  }
  if (number == 0)
    return error(Code::kInvalidArgument, std::string(name) + ": is empty; a history has a first line");
  Replay replay = player.take();
  if (!replay.difference.empty())
    replay.difference = std::string(name) + ":" + std::to_string(number) + ": " + replay.difference;
  else if (!replay.ended.empty() && !text.empty())
    return error(Code::kInvalidArgument,
                 std::string(name) + ":" + std::to_string(number + 1) + ": lines follow the closing line");
  return replay;
}

}  // namespace anelane::sched
