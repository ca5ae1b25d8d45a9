// Symbols come by dlsym, so that nothing of Apple's is linked and a machine without them gets an error, not a
// process that does not start. Apple's runtime has objc_msgSend and is asked for it first; GNU's has
// objc_msg_lookup, which gives the function to call. A message is a call through a pointer of the method's
// own type in both cases: variadic calls would pass arguments elsewhere on arm64.
//
// State: function pointers, set once. Threads: any.
#include "ane_direct/apple/objc_runtime.h"

#include "ane_direct/apple/library.h"

namespace anelane::apple {

std::string without_digits(const char* encoding) {
  std::string text;
  for (const char* c = encoding; c != nullptr && *c != '\0'; ++c)
    if (*c < '0' || *c > '9') text += *c;
  return text;
}

Result<ObjcRuntime> ObjcRuntime::open(const std::string& runtime, const std::string& extra) {
  ANELANE_ASSIGN(const Library library, Library::open(runtime));
  ObjcRuntime r;
  ANELANE_TRY(library.need("objc_getClass", &r.get_class_));
  ANELANE_TRY(library.need("sel_registerName", &r.register_selector_));
  ANELANE_TRY(library.need("class_getInstanceMethod", &r.instance_method_));
  ANELANE_TRY(library.need("class_getClassMethod", &r.class_method_));
  ANELANE_TRY(library.need("method_getTypeEncoding", &r.type_encoding_));
  if (!library.need("objc_msgSend", &r.send_).ok()) ANELANE_TRY(library.need("objc_msg_lookup", &r.lookup_));
  const Library* pools = &library;
  Library other;
  if (!library.need("objc_autoreleasePoolPush", &r.push_).ok()) {
    ANELANE_ASSIGN(other, Library::open(extra));
    pools = &other;
  }
  ANELANE_TRY(pools->need("objc_autoreleasePoolPush", &r.push_));
  ANELANE_TRY(pools->need("objc_autoreleasePoolPop", &r.pop_));
  return r;
}

std::string ObjcRuntime::encoding(Id cls, Sel selector, bool class_method) const {
  if (cls == nullptr) return {};
  ObjcMethod* method = class_method ? class_method_(cls, selector) : instance_method_(cls, selector);
  return method == nullptr ? std::string() : without_digits(type_encoding_(method));
}

}  // namespace anelane::apple
