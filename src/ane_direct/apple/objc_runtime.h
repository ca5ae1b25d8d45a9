// The Objective-C runtime, found at run time: classes, selectors, typed messages, autorelease pools. The same
// code on Apple's runtime (objc_msgSend) and on GNU's (objc_msg_lookup); this is the only place that knows.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"

namespace anelane::apple {

struct ObjcObject;
struct ObjcSelector;
struct ObjcMethod;
using Id = ObjcObject*;  // an object, or a class
using Sel = const ObjcSelector*;
using Bool = unsigned char;  // BOOL is one byte everywhere; only its low eight bits are defined

// "B@:I@^@": a type encoding without the offsets, which differ between processors.
std::string without_digits(const char* encoding);

class ObjcRuntime {
 public:
  // `runtime`: the runtime's library; `extra`: where its pool functions are when the runtime has none (GNU's
  // own). Libraries are never closed: classes cannot be unloaded.
  static Result<ObjcRuntime> open(const std::string& runtime, const std::string& extra);

  Id find_class(const char* name) const { return get_class_(name); }
  Sel selector(const char* name) const { return register_selector_(name); }
  // The encoding without digits; "" when there is no such method.
  std::string encoding(Id cls, Sel selector, bool class_method) const;

  // One message. To nil: zero. May throw what the method throws; callers stand inside guarded()
  // (framework.h).
  template <class R, class... A>
  R send(Id target, Sel selector, A... arguments) const {
    using Function = R (*)(Id, Sel, A...);
    if (target == nullptr) return R();
    const Imp imp = lookup_ != nullptr ? lookup_(target, selector) : send_;
    return reinterpret_cast<Function>(imp)(target, selector, arguments...);
  }

  void* push_pool() const { return push_(); }
  void pop_pool(void* pool) const { pop_(pool); }

 private:
  using Imp = void (*)();
  Id (*get_class_)(const char*) = nullptr;
  Sel (*register_selector_)(const char*) = nullptr;
  ObjcMethod* (*instance_method_)(Id, Sel) = nullptr;
  ObjcMethod* (*class_method_)(Id, Sel) = nullptr;
  const char* (*type_encoding_)(ObjcMethod*) = nullptr;
  Imp send_ = nullptr;                // Apple's
  Imp (*lookup_)(Id, Sel) = nullptr;  // GNU's
  void* (*push_)() = nullptr;
  void (*pop_)(void*) = nullptr;
};

// What is autoreleased while it lives is released when it ends.
class AutoreleasePool {
 public:
  explicit AutoreleasePool(const ObjcRuntime& runtime) : runtime_(runtime), pool_(runtime.push_pool()) {}
  ~AutoreleasePool() { runtime_.pop_pool(pool_); }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  const ObjcRuntime& runtime_;
  void* pool_;
};

}  // namespace anelane::apple
