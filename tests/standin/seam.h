// Messages to Objective-C objects from C++, for the tests of the stand-in. No Objective-C header: gcc's BOOL
// is not the framework's.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "standin.h"

extern "C" {
typedef struct objc_object* id;
typedef struct objc_selector* SEL;
typedef struct objc_class* Class;
typedef void (*IMP)(void);  // cast to what the selector takes
IMP objc_msg_lookup(id receiver, SEL selector);
SEL sel_registerName(const char* name);
Class objc_getClass(const char* name);
struct objc_method* class_getInstanceMethod(Class type, SEL selector);
struct objc_method* class_getClassMethod(Class type, SEL selector);
const char* method_getTypeEncoding(struct objc_method* method);

typedef struct __IOSurface* IOSurfaceRef;
IOSurfaceRef IOSurfaceCreate(id properties);
int IOSurfaceLock(IOSurfaceRef surface, uint32_t options, uint32_t* seed);
int IOSurfaceUnlock(IOSurfaceRef surface, uint32_t options, uint32_t* seed);
void* IOSurfaceGetBaseAddress(IOSurfaceRef surface);
size_t IOSurfaceGetAllocSize(IOSurfaceRef surface);
extern id const kIOSurfaceWidth, kIOSurfaceHeight, kIOSurfaceBytesPerElement, kIOSurfaceBytesPerRow,
    kIOSurfaceAllocSize, kIOSurfacePixelFormat;
const void* CFRetain(const void* object);
void CFRelease(const void* object);
}

namespace standin {

template <class R = id, class... Args>
R msg(id receiver, const char* selector, Args... args) {
  if (receiver == nullptr) return R();
  const SEL sel = sel_registerName(selector);
  return reinterpret_cast<R (*)(id, SEL, Args...)>(objc_msg_lookup(receiver, sel))(receiver, sel, args...);
}

inline id type(const char* name) {
  return reinterpret_cast<id>(objc_getClass(name));
}

class Pool {
 public:
  Pool() : pool_(objc_autoreleasePoolPush()) {}
  ~Pool() { objc_autoreleasePoolPop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* pool_;
};

id string(const std::string& text);
id data(const void* bytes, size_t size);
id number(uint64_t value);
id array(const std::vector<id>& items);
id dictionary(const std::vector<std::pair<id, id>>& entries);
std::string text(id string);  // UTF8String
id at_key(id dictionary, const char* key);
id at_index(id array, size_t index);
size_t count(id collection);

struct Error {
  std::string domain, text, under;  // under: the text of the underlying error
  long code = 0;
  bool none = true;
  std::string all() const;  // "domain code: text / under", or "nil"
};
Error error_of(id ns_error);

}  // namespace standin
