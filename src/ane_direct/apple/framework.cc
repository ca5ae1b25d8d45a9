// Opens the libraries in the order in which they need each other and looks every class and method of the
// table up before anything is called. What both routes need must be right; what one route needs is checked
// when the route is chosen, so that a change in one leaves the other usable.
//
// Exceptions: on Apple's 64-bit runtime, as on GNU's, Objective-C throws through the unwinder that C++ uses,
// and catch (...) stops it; the object itself stays unknown. An exception that crosses the framework's own
// frames may leave it in any state: it is reported, never hidden.
//
// Threads: a Framework is immutable; the name of the running selector is the thread's own.
#include "ane_direct/apple/framework.h"

#include "ane_direct/apple/library.h"

namespace anelane::apple {

thread_local const char* Framework::current_selector = "";

Status Framework::exception_status(const char* what) {
  return error(Code::kInternal,
               std::string("cannot ") + what + ": the framework raised an exception in -" + current_selector);
}

Result<std::shared_ptr<const Framework>> Framework::open(const FrameworkPaths& paths) {
  if (paths.engine.empty() || paths.runtime.empty())
    return error(Code::kEngineUnavailable,
                 "engine \"apple\" needs Apple's Neural Engine, which this system does not have; ask for "
                 "\"soft\" or \"auto\"");
  auto framework = std::make_shared<Framework>();
  ANELANE_TRY(Library::open(paths.foundation).status());
  ANELANE_TRY(Library::open(paths.engine).status());
  ANELANE_ASSIGN(framework->runtime_, ObjcRuntime::open(paths.runtime, paths.engine));
  ANELANE_ASSIGN(framework->surfaces_, SurfaceApi::open(paths.surfaces, paths.core_foundation));
  for (size_t i = 0; i < kFnCount; ++i) {
    const ApiRow& row = api_row(static_cast<Fn>(i));
    framework->classes_[i] = framework->runtime_.find_class(row.class_name);
    framework->selectors_[i] = framework->runtime_.selector(row.selector);
  }
  ANELANE_TRY(framework->check(Need::kBoth));
  return std::shared_ptr<const Framework>(std::move(framework));
}

Status Framework::check(Need route) const {
  for (size_t i = 0; i < kFnCount; ++i) {
    const ApiRow& row = api_row(static_cast<Fn>(i));
    if (row.need != route) continue;
    if (classes_[i] == nullptr)
      return error(Code::kEngineUnavailable,
                   std::string("the AppleNeuralEngine framework of this system has no class ") +
                       row.class_name + ": a newer anelane may know how to do without");
    const std::string found = runtime_.encoding(classes_[i], selectors_[i], row.class_method);
    const std::string method =
        std::string(row.class_method ? "+[" : "-[") + row.class_name + " " + row.selector + "]";
    if (found.empty())
      return error(Code::kEngineUnavailable, "the AppleNeuralEngine framework of this system has no " +
                                                 method + ": a newer anelane may know how to do without");
    if (found != row.types)
      return error(Code::kEngineUnavailable, "the AppleNeuralEngine framework of this system has another " +
                                                 method + ": expected encoding " + row.types + ", found " +
                                                 found);
  }
  return {};
}

Ref::Ref(std::shared_ptr<const Framework> framework, Id object)
    : framework_(std::move(framework)), object_(object) {
  if (object_ != nullptr) framework_->runtime().send<Id>(object_, framework_->runtime().selector("retain"));
}

void Ref::reset() {
  if (object_ == nullptr) return;
  const Id object = object_;
  object_ = nullptr;
  // A dealloc autoreleases as it likes, and may throw as anything may.
  (void)framework_->guarded("release an object", [&]() -> Status {
    Framework::note_selector("release");
    framework_->runtime().send<void>(object, framework_->runtime().selector("release"));
    return {};
  });
}

}  // namespace anelane::apple
