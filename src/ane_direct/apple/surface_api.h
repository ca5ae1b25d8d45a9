// The C functions of IOSurface and CoreFoundation that we use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "ane_direct/apple/objc_runtime.h"

namespace anelane::apple {

struct SurfaceApi {
  static Result<SurfaceApi> open(const std::string& surfaces, const std::string& core_foundation);

  static constexpr uint32_t kReadOnly = 1;  // of lock and unlock
  Id (*create)(Id properties) = nullptr;    // a new reference, or null
  int32_t (*lock)(Id surface, uint32_t options, uint32_t* seed) = nullptr;
  int32_t (*unlock)(Id surface, uint32_t options, uint32_t* seed) = nullptr;
  void* (*base_address)(Id surface) = nullptr;
  size_t (*alloc_size)(Id surface) = nullptr;
  void (*release)(Id surface) = nullptr;
  // Names of the properties; CFString is NSString.
  Id width = nullptr, height = nullptr, bytes_per_element = nullptr, bytes_per_row = nullptr,
     alloc_size_key = nullptr, pixel_format = nullptr;
};

}  // namespace anelane::apple
