// The keys are variables of the library that hold strings: what dlsym finds is the address of the variable.
#include "ane_direct/apple/surface_api.h"

#include <utility>

#include "ane_direct/apple/library.h"

namespace anelane::apple {

Result<SurfaceApi> SurfaceApi::open(const std::string& surfaces, const std::string& core_foundation) {
  ANELANE_ASSIGN(const Library library, Library::open(surfaces));
  ANELANE_ASSIGN(const Library foundation, Library::open(core_foundation));
  SurfaceApi api;
  ANELANE_TRY(library.need("IOSurfaceCreate", &api.create));
  ANELANE_TRY(library.need("IOSurfaceLock", &api.lock));
  ANELANE_TRY(library.need("IOSurfaceUnlock", &api.unlock));
  ANELANE_TRY(library.need("IOSurfaceGetBaseAddress", &api.base_address));
  ANELANE_TRY(library.need("IOSurfaceGetAllocSize", &api.alloc_size));
  ANELANE_TRY(foundation.need("CFRelease", &api.release));
  for (const auto& [name, into] :
       {std::pair{"kIOSurfaceWidth", &api.width}, std::pair{"kIOSurfaceHeight", &api.height},
        std::pair{"kIOSurfaceBytesPerElement", &api.bytes_per_element},
        std::pair{"kIOSurfaceBytesPerRow", &api.bytes_per_row},
        std::pair{"kIOSurfaceAllocSize", &api.alloc_size_key},
        std::pair{"kIOSurfacePixelFormat", &api.pixel_format}}) {
    const Id* variable = nullptr;
    ANELANE_TRY(library.need(name, &variable));
    *into = *variable;
  }
  return api;
}

}  // namespace anelane::apple
