// Apple's framework as this process found it: libraries open, classes and methods checked, and the one way to
// call into them: guarded().
#pragma once
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "ane_direct/apple/api_table.h"
#include "ane_direct/apple/objc_runtime.h"
#include "ane_direct/apple/surface_api.h"
#include "base/status.h"

namespace anelane::apple {

// Where the libraries are. Empty: this system has none.
struct FrameworkPaths {
  std::string runtime, foundation, core_foundation, surfaces, engine;
};

class Framework {
 public:
  // ENGINE_UNAVAILABLE when a library, a class or a method that both routes need is missing or changed.
  static Result<std::shared_ptr<const Framework>> open(const FrameworkPaths& paths);

  const ObjcRuntime& runtime() const { return runtime_; }
  const SurfaceApi& surfaces() const { return surfaces_; }
  // OK when the route can be used; else ENGINE_UNAVAILABLE with class, selector, expected and found encoding.
  Status check(Need route) const;

  // Sends a class method to its class.
  template <class R, class... A>
  R call(Fn fn, A... arguments) const {
    return call_on<R>(fn, classes_[static_cast<size_t>(fn)], arguments...);
  }
  template <class R, class... A>
  R call_on(Fn fn, Id target, A... arguments) const {
    current_selector = api_row(fn).selector;
    return runtime_.send<R>(target, selectors_[static_cast<size_t>(fn)], arguments...);
  }

  // Runs `body`, which returns a Status or a Result, in an autorelease pool of its own. What Objective-C or
  // C++ throws inside becomes an INTERNAL error that names the selector.
  template <class Body>
  auto guarded(const char* what, Body body) const -> decltype(body()) {
    using Answer = decltype(body());
    const AutoreleasePool pool(runtime_);
    current_selector = "";
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return Answer(error(Code::kOutOfMemory, std::string("not enough memory to ") + what));
    } catch (const std::exception& failure) {
      return Answer(error(Code::kInternal, std::string("cannot ") + what + ": " + failure.what()));
    } catch (...) {
      return Answer(exception_status(what));
    }
  }
  // For the messages of public classes: what guarded() names when they throw.
  static void note_selector(const char* name) { current_selector = name; }

 private:
  static Status exception_status(const char* what);
  static thread_local const char* current_selector;
  ObjcRuntime runtime_;
  SurfaceApi surfaces_;
  std::array<Id, kFnCount> classes_{};
  std::array<Sel, kFnCount> selectors_{};
};

// A reference that is owned: released at the end, in whatever pool there is.
class Ref {
 public:
  Ref() = default;
  // Retains.
  Ref(std::shared_ptr<const Framework> framework, Id object);
  ~Ref() { reset(); }
  Ref(Ref&& other) noexcept : framework_(std::move(other.framework_)), object_(other.object_) {
    other.object_ = nullptr;
  }
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) {
      reset();
      framework_ = std::move(other.framework_);
      object_ = other.object_;
      other.object_ = nullptr;
    }
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  Id get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset();

 private:
  std::shared_ptr<const Framework> framework_;
  Id object_ = nullptr;
};

}  // namespace anelane::apple
