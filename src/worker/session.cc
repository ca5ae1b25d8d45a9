// Every request gets exactly one reply with its id, whatever happens: an error becomes FAILED, and an
// exception that some library throws under us (memory, mostly) is turned into one here, at the edge of the
// module. An error of the request leaves the session as it was. Only an error of the stream itself ends it.
#include "worker/session.h"

#include <unistd.h>

#include <exception>
#include <new>

#include "base/clock.h"
#include "base/limits.h"
#include "models/program_model.h"
#include "models/program_pack.h"
#include "worker/engine_choice.h"
#include "worker/fault_points.h"

namespace anelane::worker {
namespace {

Frame json_frame(FrameType type, const Frame& request, const Json& body) {
  return {type, request.request, body.dump()};
}

// Marks the engine thread busy for as long as it lives.
class Busy {
 public:
  Busy(Activity* activity, uint64_t request) : activity_(activity) {
    activity_->request.store(request, std::memory_order_relaxed);
    activity_->steps.store(0, std::memory_order_relaxed);
    activity_->since_ns.store(now_ns(), std::memory_order_relaxed);
  }
  ~Busy() { activity_->since_ns.store(0, std::memory_order_relaxed); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Activity* activity_;
};

// What `work` returns, or what it threw.
template <class Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return error(Code::kOutOfMemory, "the worker ran out of memory");
  } catch (const std::exception& e) {
    return error(Code::kInternal, std::string("the worker met an exception: ") + e.what());
  }
}

}  // namespace

Status Session::reply(const Frame& frame) {
  return send_at_fault_point(stream_, frame);
}

Status Session::greet(const Frame& init) {
  const Busy busy(activity_, init.request);
  Result<HelloBody> hello = guarded([&] { return set_up(init); });
  if (hello.ok()) return reply(json_frame(FrameType::kHello, init, to_json(*hello)));
  ANELANE_TRY(reply(json_frame(FrameType::kFailed, init, to_json(hello.status()))));
  return hello.status();
}

Result<HelloBody> Session::set_up(const Frame& init) {
  if (init.type != FrameType::kInit)
    return error(Code::kProtocol, "the first frame has type " + std::to_string(static_cast<int>(init.type)) +
                                      " and is not INIT");
  ANELANE_ASSIGN(const InitBody body, parse_init(init.body));
  if (body.version != limits::kProtocolVersion)
    return error(Code::kProtocol, "the library speaks protocol " + std::to_string(body.version) +
                                      ", this worker (build " + build_id() + ") " +
                                      std::to_string(limits::kProtocolVersion) +
                                      ": install both from the same build");
  if (body.arena_bytes != 0) {
    ANELANE_ASSIGN(arena_, Arena::attach(std::move(arena_fd_), static_cast<size_t>(body.arena_bytes)));
  }
  ANELANE_ASSIGN(engine_, choose_engine(body));
  const EngineInfo info = engine_->info();
  HelloBody hello;
  hello.version = limits::kProtocolVersion;
  hello.nonce = body.nonce;
  hello.build = build_id();
  hello.engine = info.name;
  hello.numerics = info.numerics;
  hello.dispatch = info.dispatch;
  hello.os_build = info.os_build;
  hello.pool_limit = info.pool_limit;
  hello.pid = ::getpid();
  return hello;
}

Status Session::serve(const Frame& request) {
  const Busy busy(activity_, request.request);
  Result<Frame> answered = guarded([&] { return answer(request); });
  if (answered.ok()) return reply(*answered);
  return reply(json_frame(FrameType::kFailed, request, to_json(answered.status())));
}

Result<Frame> Session::answer(const Frame& request) {
  switch (request.type) {
    case FrameType::kRun:
      return run(request);
    case FrameType::kEmbed:
      return embed(request);
    case FrameType::kAdmit:
      return admit(request);
    case FrameType::kEvict:
      return evict(request);
    case FrameType::kLoad:
      return load(request);
    default:
      return error(Code::kProtocol, "a frame of type " + std::to_string(static_cast<int>(request.type)) +
                                        " is not a request that this worker can be sent now");
  }
}

Result<ServedModel*> Session::model() {
  if (!model_) return error(Code::kInternal, "no model is loaded in this worker");
  return &*model_;
}

Result<const Arena*> Session::arena() const {
  if (!arena_) return error(Code::kInternal, "this worker was given no arena");
  return static_cast<const Arena*>(arena_.get());
}

// The pack is copied out first: the host uses the arena for tensors as soon as the load is answered.
Result<std::shared_ptr<const Model>> Session::open_packed(uint64_t bytes, const ModelOpenOptions& options) {
  ANELANE_ASSIGN(const Arena* memory, arena());
  if (!memory->holds(0, bytes)) return error(Code::kProtocol, "the packed program does not lie in the arena");
  const auto pack = std::make_shared<const std::string>(reinterpret_cast<const char*>(memory->data()),
                                                        static_cast<size_t>(bytes));
  ANELANE_ASSIGN(const std::unique_ptr<ProgramFiles> files, open_program_pack(pack));
  return open_program_model(*files, "program", options);
}

Result<Frame> Session::load(const Frame& request) {
  if (model_) return error(Code::kInternal, "this worker serves a model already; one worker has one model");
  ANELANE_ASSIGN(const LoadBody body, parse_load(request.body));
  const ModelOpenOptions options{body.rungs, body.name, engine_->info().dialect};
  std::shared_ptr<const Model> opened;
  if (body.pack_bytes != 0) {
    ANELANE_ASSIGN(opened, open_packed(body.pack_bytes, options));
  } else {
    ANELANE_ASSIGN(opened, open_model(body.path, options));
  }
  model_.emplace(*engine_, std::move(opened), LoaderOptions{}, *activity_, body.shapes_per_model);
  if (Status checked = model_->check_programs(); !checked.ok()) {
    model_.reset();  // as if it had not been opened: the next LOAD may be of a better one
    return checked;
  }
  return json_frame(FrameType::kLoaded, request, to_json(model_->report()));
}

Result<Frame> Session::admit(const Frame& request) {
  ANELANE_ASSIGN(const uint32_t shape, parse_shape(request.body));
  ANELANE_ASSIGN(ServedModel * served, model());
  const auto progress = [&](const ProgressBody& step) {
    const Status sent = reply(json_frame(FrameType::kProgress, request, to_json(step)));
    // Nobody is left to serve: do not compile the rest.
    if (!sent.ok()) activity_->stopping.store(true, std::memory_order_relaxed);
  };
  ANELANE_ASSIGN(const AdmittedBody admitted, served->admit(shape, progress));
  return json_frame(FrameType::kAdmitted, request, to_json(admitted));
}

Result<Frame> Session::evict(const Frame& request) {
  ANELANE_ASSIGN(const uint32_t shape, parse_shape(request.body));
  ANELANE_ASSIGN(ServedModel * served, model());
  served->evict(shape);
  return json_frame(FrameType::kEvicted, request, shape_json(shape));
}

Result<Frame> Session::embed(const Frame& request) {
  ANELANE_ASSIGN(const EmbedBody body, decode_embed(request.body));
  ANELANE_ASSIGN(ServedModel * served, model());
  ANELANE_ASSIGN(const Arena* memory, arena());
  ANELANE_ASSIGN(const EmbeddedBody done, served->embed(body, *memory));
  return Frame{FrameType::kEmbedded, request.request, encode(done)};
}

Result<Frame> Session::run(const Frame& request) {
  ANELANE_ASSIGN(const RunBody body, decode_run(request.body));
  ANELANE_ASSIGN(ServedModel * served, model());
  ANELANE_ASSIGN(const Arena* memory, arena());
  ANELANE_TRY(served->run(body, *memory));
  return Frame{FrameType::kRan, request.request, {}};
}

}  // namespace anelane::worker
