// Turns the frames of the stream into calls on the engine and the model, and their outcomes into replies.
// Belongs to the engine thread.
#pragma once
#include <memory>
#include <optional>

#include "ane_direct/engine.h"
#include "base/status.h"
#include "models/model.h"
#include "worker/activity.h"
#include "worker/arena.h"
#include "worker/protocol.h"
#include "worker/served_model.h"

namespace anelane::worker {

class Session {
 public:
  // `stream` is the descriptor replies go to; `arena` is mapped by INIT. Both ends outlive the session.
  Session(int stream, UniqueFd arena, Activity* activity)
      : stream_(stream), arena_fd_(std::move(arena)), activity_(activity) {}

  // The first frame: makes the engine, answers HELLO or FAILED. An error ends the worker.
  Status greet(const Frame& init);
  // Any later frame: answers it. An error means that the stream is of no further use.
  Status serve(const Frame& request);

 private:
  Result<HelloBody> set_up(const Frame& init);
  // The reply to a request; an error becomes FAILED.
  Result<Frame> answer(const Frame& request);
  Result<Frame> load(const Frame& request);
  Result<std::shared_ptr<const Model>> open_packed(uint64_t bytes, const ModelOpenOptions& options);
  Result<Frame> admit(const Frame& request);
  Result<Frame> evict(const Frame& request);
  Result<Frame> embed(const Frame& request);
  Result<Frame> run(const Frame& request);
  Result<ServedModel*> model();
  Result<const Arena*> arena() const;
  Status reply(const Frame& frame);

  int stream_;
  UniqueFd arena_fd_;
  Activity* activity_;
  std::shared_ptr<Arena> arena_;
  std::unique_ptr<Engine> engine_;
  std::optional<ServedModel> model_;  // after the engine: its programs unload first
};

}  // namespace anelane::worker
