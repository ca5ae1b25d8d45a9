// The in-memory wrapper, and the traps in it:
//   - it does not write model.mil nor the weight file: they are staged before compile, where it says it looks
//     (staging.h), and nowhere else; its setModelURL: is never called: newer systems refuse what it points
//     to;
//   - text is NSData, the weights a dictionary that is never nil, options are never nil;
//   - a load of what the service does not hold compiles on its own and writes files: it is asked first, and a
//     load that fails all the same is cleaned up after;
//   - the descriptor keeps the weights in memory after a cached load: it is dropped;
//   - an unload deletes the staged folder, which another process may just have written: the lock is taken if
//     there is one;
//   - releasing a loaded model does not unload it, and what its compile autoreleased holds a place on the
//     engine: every step has a pool of its own.
//
// Probe, compile and load of one program come one after the other, and each wants the same object: the last
// one is kept until it is loaded or another program comes. Threads: one at a time for each route; compile,
// load, unload and purge are one at a time in the process.
#include "ane_direct/apple/ask.h"
#include "ane_direct/apple/lifecycle.h"
#include "ane_direct/apple/route.h"
#include "ane_direct/apple/temp_folder.h"
#include "ane_direct/content_id.h"
#include "base/limits.h"
#include "base/log.h"

namespace anelane::apple {
namespace {

using FrameworkPtr = std::shared_ptr<const Framework>;

class InMemoryModel final : public LiveModel {
 public:
  InMemoryModel(FrameworkPtr framework, Ref model, std::string id, StagingArea staging)
      : framework_(std::move(framework)),
        model_(std::move(model)),
        id_(std::move(id)),
        staging_(std::move(staging)) {}
  ~InMemoryModel() override { unload(); }

  Status read_ports() {
    return framework_->guarded("read the attributes", [&]() -> Status {
      const Id attributes = framework_->call_on<Id>(Fn::kModelAttributes, model_.get());
      ANELANE_ASSIGN(ports_, read_attributes(Foundation(*framework_), attributes));
      return {};
    });
  }

  // The weights that it keeps are the service's own business now.
  Status drop_descriptor() {
    return framework_->guarded("drop a descriptor", [&]() -> Status {
      framework_->call_on<void>(Fn::kSetDescriptor, model_.get(), Id{nullptr});
      return {};
    });
  }

  Status evaluate(Id request) override {
    const Framework& fw = *framework_;
    return ask(fw, Stage::kRun, "run a program", [&](Id* problem) {
      return fw.call_on<Bool>(Fn::kEvaluate, model_.get(), kQos, Foundation(fw).dictionary({}), request,
                              problem);
    });
  }

 private:
  void unload() {
    const StagingLock lock = staging_.lock_if_staged(id_, limits::kStagingWaitMs);
    const LifecycleLock one_at_a_time;
    const Framework& fw = *framework_;
    unload_twice([&] {
      return ask(fw, Stage::kUnload, "unload a program",
                 [&](Id* problem) { return fw.call_on<Bool>(Fn::kUnload, model_.get(), kQos, problem); });
    });
    model_.reset();
  }

  FrameworkPtr framework_;
  Ref model_;
  std::string id_;
  StagingArea staging_;
};

class InMemoryRoute final : public Route {
 public:
  InMemoryRoute(FrameworkPtr framework, StagingArea staging)
      : framework_(std::move(framework)), staging_(std::move(staging)) {}
  const char* name() const override { return "in-memory"; }
  bool probe(const std::string& id, const Program* program) override;
  Status compile(const std::string& id, const Program& program, CompileEnd* end) override;
  Result<std::unique_ptr<LiveModel>> load(const std::string& id, const Program* program) override;

 private:
  // The object of a program between its steps.
  struct Current {
    std::string id, folder;
    Ref model;
    StagedSources staged;  // after a compile
  };
  Status take(const std::string& id, const Program* program);
  Status make_model(const std::string& id, const Program& program, Current* into);
  Result<bool> exists();
  Status prepare_compile(const std::string& id, const Program& program, CompileEnd* end);

  FrameworkPtr framework_;
  StagingArea staging_;
  Current current_;
};

Status InMemoryRoute::make_model(const std::string& id, const Program& program, Current* into) {
  const Framework& fw = *framework_;
  return fw.guarded("describe a program", [&]() -> Status {
    const Foundation make(fw);
    Id weights = make.dictionary({});
    if (!program.weights.empty()) {
      const Id file = make.dictionary(
          {{make.string("offset"), make.number(0)}, {make.string("data"), make.data(program.weights)}});
      weights = make.dictionary({{make.string("@model_path/weights/weight.bin"), file}});
    }
    const std::span<const uint8_t> text(reinterpret_cast<const uint8_t*>(program.mil.data()),
                                        program.mil.size());
    const std::span<const uint8_t> options(reinterpret_cast<const uint8_t*>(program.options.data()),
                                           program.options.size());
    const Id descriptor = fw.call<Id>(Fn::kMakeDescriptor, make.data(text), weights,
                                      options.empty() ? nullptr : make.data(options));
    if (descriptor == nullptr) return error(Code::kInternal, "the framework does not take a program's parts");
    into->model = Ref(framework_, fw.call<Id>(Fn::kMakeModel, descriptor));
    if (!into->model) return error(Code::kInternal, "the framework makes no model of a program");
    const auto hex = make.text_of(fw.call_on<Id>(Fn::kHexIdentifier, into->model.get()));
    if (!hex || *hex != id)
      return error(
          Code::kEngineUnavailable,
          "the framework of this system names programs in another way than anelane knows: expected " + id +
              ", found " + hex.value_or("no text") + "; the client route does not depend on it");
    const auto folder = make.text_of(fw.call_on<Id>(Fn::kLocalModelPath, into->model.get()));
    into->folder = folder.value_or("");
    into->id = id;
    return {};
  });
}

Status InMemoryRoute::take(const std::string& id, const Program* program) {
  if (current_.model && current_.id == id) return {};
  current_ = Current();
  if (program == nullptr)
    return error(Code::kIo, "the in-memory route cannot name a program that it has not been given");
  Current fresh;
  ANELANE_TRY(make_model(id, *program, &fresh));
  current_ = std::move(fresh);
  return {};
}

Result<bool> InMemoryRoute::exists() {
  const Framework& fw = *framework_;
  return fw.guarded("look for a compiled program", [&]() -> Result<bool> {
    return fw.call_on<Bool>(Fn::kCompiledModelExists, current_.model.get()) != 0;
  });
}

bool InMemoryRoute::probe(const std::string& id, const Program* program) {
  const LifecycleLock one_at_a_time;
  if (const Status status = take(id, program); !status.ok()) {
    log_line(LogLevel::kWarn, status.message());
    return false;
  }
  const Result<bool> held = exists();
  return held.ok() && *held;
}

// Names the program to the framework, checks where it will look for it, and takes an entry away that could
// not be loaded: the compile might be answered with it.
Status InMemoryRoute::prepare_compile(const std::string& id, const Program& program, CompileEnd* end) {
  const LifecycleLock one_at_a_time;
  // A fresh object: one that was told of a cached copy, or failed, goes its own ways.
  current_ = Current();
  ANELANE_TRY(take(id, &program));
  const std::string parent = current_.folder.substr(0, current_.folder.rfind('/'));
  if (!current_.folder.ends_with("/" + id) || !same_folder(parent, staging_.temp_folder())) {
    *end = CompileEnd::kStagingRefused;
    return error(Code::kEngineUnavailable,
                 "the framework looks for programs in \"" + parent + "\", and this user's temp folder is " +
                     staging_.temp_folder() + ": unset TMPDIR, or set it to that folder");
  }
  ANELANE_ASSIGN(const bool held, exists());
  if (!held) return {};
  return framework_->guarded("remove a compiled program", [&]() -> Status {
    framework_->call_on<void>(Fn::kPurge, current_.model.get());
    return {};
  });
}

Status InMemoryRoute::compile(const std::string& id, const Program& program, CompileEnd* end) {
  ANELANE_TRY(prepare_compile(id, program, end));
  // Whoever waits for this lock does not hold the process's: who has this one needs that one for its load.
  ANELANE_ASSIGN(current_.staged,
                 staging_.stage(id, join_path(staging_.temp_folder(), id), program, limits::kCompileGateMs));
  const LifecycleLock one_at_a_time;
  const Framework& fw = *framework_;
  EngineError found;
  Status status = ask(
      fw, Stage::kCompile, "compile a program",
      [&](Id* problem) {
        return fw.call_on<Bool>(Fn::kCompile, current_.model.get(), kQos, Foundation(fw).dictionary({}),
                                problem);
      },
      &found);
  if (status.ok()) return status;
  *end = is_staging_refusal(found) ? CompileEnd::kStagingRefused : CompileEnd::kFailedInService;
  current_ = Current();
  return status;
}

Result<std::unique_ptr<LiveModel>> InMemoryRoute::load(const std::string& id, const Program* program) {
  const LifecycleLock one_at_a_time;
  ANELANE_TRY(take(id, program));
  const Framework& fw = *framework_;
  // Now it belongs to this load, whatever comes of it; the staged sources go when it ends.
  Current loading = std::move(current_);
  current_ = Current();
  if (!loading.staged.staged()) {
    ANELANE_ASSIGN(const bool held, fw.guarded("look for a compiled program", [&]() -> Result<bool> {
      return fw.call_on<Bool>(Fn::kCompiledModelExists, loading.model.get()) != 0;
    }));
    if (!held) return error(Code::kIo, "the engine's service does not hold the program");
  }
  const Status status = ask(fw, Stage::kLoad, "load a program", [&](Id* problem) {
    return fw.call_on<Bool>(Fn::kLoad, loading.model.get(), kQos, Foundation(fw).dictionary({}), problem);
  });
  if (!status.ok()) {
    // If the entry vanished after it was asked for, the wrapper has written files of its own.
    if (!loading.staged.staged()) staging_.remove_unlocked(id);
    return status;
  }
  auto live = std::make_unique<InMemoryModel>(framework_, std::move(loading.model), id, staging_);
  ANELANE_TRY(live->read_ports());
  ANELANE_TRY(live->drop_descriptor());
  return std::unique_ptr<LiveModel>(std::move(live));
}

}  // namespace

std::unique_ptr<Route> make_in_memory_route(std::shared_ptr<const Framework> framework, StagingArea staging) {
  return std::make_unique<InMemoryRoute>(std::move(framework), std::move(staging));
}

}  // namespace anelane::apple
