// The client over files of our own: the service is told of a folder and a key, and compiles what lies there.
// No in-memory wrapper, so no temp folder, no second copy of the weights and no file hashes. The folder and
// the key both carry the content identifier, since path and key together name the compiled program.
//
// Nothing is deleted on disk by an unload. Threads: as for the other route.
#include "ane_direct/apple/ask.h"
#include "ane_direct/apple/lifecycle.h"
#include "ane_direct/apple/route.h"
#include "ane_direct/apple/source_folder.h"
#include "base/clock.h"
#include "base/log.h"

namespace anelane::apple {
namespace {

using FrameworkPtr = std::shared_ptr<const Framework>;

class ClientModel final : public LiveModel {
 public:
  ClientModel(FrameworkPtr framework, Id client, Ref model)
      : framework_(std::move(framework)), client_(client), model_(std::move(model)) {}
  ~ClientModel() override {
    const LifecycleLock one_at_a_time;
    const Framework& fw = *framework_;
    unload_twice([&] {
      return ask(fw, Stage::kUnload, "unload a program", [&](Id* problem) {
        return fw.call_on<Bool>(Fn::kClientUnload, client_, model_.get(), Foundation(fw).dictionary({}), kQos,
                                problem);
      });
    });
    model_.reset();
  }

  Status read_ports() {
    return framework_->guarded("read the attributes", [&]() -> Status {
      const Id attributes = framework_->call_on<Id>(Fn::kFileModelAttributes, model_.get());
      ANELANE_ASSIGN(ports_, read_attributes(Foundation(*framework_), attributes));
      return {};
    });
  }

  Status evaluate(Id request) override {
    const Framework& fw = *framework_;
    return ask(fw, Stage::kRun, "run a program", [&](Id* problem) {
      return fw.call_on<Bool>(Fn::kClientEvaluate, client_, model_.get(), Foundation(fw).dictionary({}),
                              request, kQos, problem);
    });
  }

 private:
  FrameworkPtr framework_;
  Id client_;
  Ref model_;
};

class ClientRoute final : public Route {
 public:
  ClientRoute(FrameworkPtr framework, std::string sources)
      : framework_(std::move(framework)), sources_(std::move(sources)) {
    (void)sources_.sweep(unix_ms() / 1000);
  }
  const char* name() const override { return "client"; }
  bool probe(const std::string& id, const Program* program) override;
  Status compile(const std::string& id, const Program& program, CompileEnd* end) override;
  Result<std::unique_ptr<LiveModel>> load(const std::string& id, const Program* program) override;

 private:
  Result<Ref> make_model(const std::string& id);
  Result<bool> exists(const Ref& model);
  Result<Id> client();

  FrameworkPtr framework_;
  SourceFolder sources_;
  Ref client_;
};

Result<Id> ClientRoute::client() {
  if (client_) return client_.get();
  return framework_->guarded("connect to the engine's service", [&]() -> Result<Id> {
    client_ = Ref(framework_, framework_->call<Id>(Fn::kSharedConnection));
    if (!client_) return error(Code::kEngineUnavailable, "the framework gives no connection to its service");
    return client_.get();
  });
}

Result<Ref> ClientRoute::make_model(const std::string& id) {
  return framework_->guarded("name a program", [&]() -> Result<Ref> {
    const Foundation make(*framework_);
    Ref model(framework_, framework_->call<Id>(Fn::kMakeFileModel, make.folder_url(sources_.path_of(id)),
                                               make.string(id)));
    if (!model) return error(Code::kInternal, "the framework makes no model of a folder");
    return model;
  });
}

Result<bool> ClientRoute::exists(const Ref& model) {
  ANELANE_ASSIGN(const Id connection, client());
  return framework_->guarded("look for a compiled program", [&]() -> Result<bool> {
    return framework_->call_on<Bool>(Fn::kClientExists, connection, model.get()) != 0;
  });
}

bool ClientRoute::probe(const std::string& id, const Program*) {
  const LifecycleLock one_at_a_time;
  const Result<Ref> model = make_model(id);
  if (!model.ok()) return false;
  const Result<bool> held = exists(*model);
  return held.ok() && *held;
}

Status ClientRoute::compile(const std::string& id, const Program& program, CompileEnd* end) {
  const LifecycleLock one_at_a_time;
  ANELANE_TRY(sources_.write(id, program));
  ANELANE_ASSIGN(const Ref model, make_model(id));
  ANELANE_ASSIGN(const bool held, exists(model));
  ANELANE_ASSIGN(const Id connection, client());
  const Framework& fw = *framework_;
  if (held)
    ANELANE_TRY(fw.guarded("remove a compiled program", [&]() -> Status {
      fw.call_on<void>(Fn::kClientPurge, connection, model.get());
      return {};
    }));
  const Status status = ask(fw, Stage::kCompile, "compile a program", [&](Id* problem) {
    const Foundation make(fw);
    const Id options = make.dictionary({{make.string("kANEFModelType"), make.string("kANEFModelMIL")},
                                        {make.string("kANEFNetPlistFilenameKey"), make.string("model.mil")}});
    return fw.call_on<Bool>(Fn::kClientCompile, connection, model.get(), options, kQos, problem);
  });
  if (!status.ok()) *end = CompileEnd::kFailedInService;
  return status;
}

Result<std::unique_ptr<LiveModel>> ClientRoute::load(const std::string& id, const Program*) {
  const LifecycleLock one_at_a_time;
  ANELANE_ASSIGN(Ref model, make_model(id));
  ANELANE_ASSIGN(const bool held, exists(model));
  if (!held) return error(Code::kIo, "the engine's service does not hold the program");
  ANELANE_ASSIGN(const Id connection, client());
  const Framework& fw = *framework_;
  ANELANE_TRY(ask(fw, Stage::kLoad, "load a program", [&](Id* problem) {
    return fw.call_on<Bool>(Fn::kClientLoad, connection, model.get(), Foundation(fw).dictionary({}), kQos,
                            problem);
  }));
  sources_.mark_used(id);
  auto live = std::make_unique<ClientModel>(framework_, connection, std::move(model));
  ANELANE_TRY(live->read_ports());
  return std::unique_ptr<LiveModel>(std::move(live));
}

}  // namespace

std::unique_ptr<Route> make_client_route(std::shared_ptr<const Framework> framework, std::string sources) {
  return std::make_unique<ClientRoute>(std::move(framework), std::move(sources));
}

}  // namespace anelane::apple
