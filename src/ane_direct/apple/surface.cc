// A surface is a flat run of bytes, one row of them: the strides inside are the program's own. Rounded up to
// 16 KiB and never below 48 KiB, which satisfies every size rule that was reported; larger than the port is
// always accepted. Zeroed once, because padding columns of inputs must be zero and nobody writes them later.
//
// The base address holds for the life of the surface; locking around what the CPU does is still asked for.
// The framework's object takes a reference of its own. Threads: one at a time.
#include "ane_direct/apple/surface.h"

#include <atomic>
#include <cstring>

#include "ane_direct/apple/foundation.h"
#include "base/limits.h"

namespace anelane::apple {
namespace {

uint64_t surface_bytes(uint64_t wanted) {
  const uint64_t least = wanted < limits::kSurfaceMin ? limits::kSurfaceMin : wanted;
  return (least + limits::kSurfaceAlign - 1) / limits::kSurfaceAlign * limits::kSurfaceAlign;
}

}  // namespace

Result<std::unique_ptr<Surface>> Surface::create(std::shared_ptr<const Framework> framework, uint64_t bytes) {
  static std::atomic<uint64_t> serials{0};
  if (bytes > limits::kMaxSurface)
    return error(Code::kOutOfMemory, "a port of " + std::to_string(bytes) + " bytes is beyond the limit")
        .with_limit(limits::kMaxSurface);
  std::unique_ptr<Surface> made(new Surface());
  made->framework_ = std::move(framework);
  made->bytes_ = surface_bytes(bytes);
  made->serial_ = ++serials;
  const Framework& fw = *made->framework_;
  const SurfaceApi& api = fw.surfaces();
  ANELANE_TRY(fw.guarded("make a surface", [&]() -> Status {
    const Foundation make(fw);
    const Id size = make.number(static_cast<int64_t>(made->bytes_)), one = make.number(1);
    made->surface_ = api.create(make.dictionary({{api.width, size},
                                                 {api.height, one},
                                                 {api.bytes_per_element, one},
                                                 {api.bytes_per_row, size},
                                                 {api.alloc_size_key, size},
                                                 {api.pixel_format, make.number(0)}}));
    if (made->surface_ == nullptr || api.alloc_size(made->surface_) < made->bytes_)
      return error(Code::kOutOfMemory,
                   "the system gives no surface of " + std::to_string(made->bytes_) + " bytes");
    made->base_ = api.base_address(made->surface_);
    if (made->base_ == nullptr) return error(Code::kOutOfMemory, "the system gives a surface without memory");
    made->object_ = Ref(made->framework_, fw.call<Id>(Fn::kWrapSurface, made->surface_));
    if (!made->object_) return error(Code::kInternal, "the framework does not take a surface");
    return {};
  }));
  ANELANE_TRY(made->begin_access(Access::kWrite));
  std::memset(made->base_, 0, made->bytes_);
  ANELANE_TRY(made->end_access(Access::kWrite));
  return made;
}

Surface::~Surface() {
  object_.reset();
  if (surface_ == nullptr) return;
  (void)framework_->guarded("release a surface", [&]() -> Status {
    framework_->surfaces().release(surface_);
    return {};
  });
}

Status Surface::begin_access(Access access) {
  const uint32_t options = access == Access::kRead ? SurfaceApi::kReadOnly : 0;
  return framework_->guarded("lock a surface", [&]() -> Status {
    const int32_t result = framework_->surfaces().lock(surface_, options, nullptr);
    if (result == 0) return {};
    return error(Code::kInternal, "a surface cannot be locked: result " + std::to_string(result));
  });
}

Status Surface::end_access(Access access) {
  const uint32_t options = access == Access::kRead ? SurfaceApi::kReadOnly : 0;
  return framework_->guarded("unlock a surface", [&]() -> Status {
    const int32_t result = framework_->surfaces().unlock(surface_, options, nullptr);
    if (result == 0) return {};
    return error(Code::kInternal, "a surface cannot be unlocked: result " + std::to_string(result));
  });
}

}  // namespace anelane::apple
