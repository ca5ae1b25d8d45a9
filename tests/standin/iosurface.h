// The IOSurface double: an object with memory of its own, and the C functions over it.
#import <Foundation/Foundation.h>

#include "standin.h"

typedef struct __IOSurface* IOSurfaceRef;

@interface StandinIOSurface : NSObject {
 @public
  void* base;
  size_t alloc_size, width, height, bytes_per_element, bytes_per_row;
  uint32_t pixel_format, identifier;
  int write_locks, read_locks;
}
@end

STANDIN_EXPORT IOSurfaceRef IOSurfaceCreate(id properties);
STANDIN_EXPORT int IOSurfaceLock(IOSurfaceRef surface, uint32_t options, uint32_t* seed);
STANDIN_EXPORT int IOSurfaceUnlock(IOSurfaceRef surface, uint32_t options, uint32_t* seed);
STANDIN_EXPORT void* IOSurfaceGetBaseAddress(IOSurfaceRef surface);
STANDIN_EXPORT size_t IOSurfaceGetAllocSize(IOSurfaceRef surface);
STANDIN_EXPORT size_t IOSurfaceGetWidth(IOSurfaceRef surface);
STANDIN_EXPORT size_t IOSurfaceGetHeight(IOSurfaceRef surface);
STANDIN_EXPORT size_t IOSurfaceGetBytesPerElement(IOSurfaceRef surface);
STANDIN_EXPORT size_t IOSurfaceGetBytesPerRow(IOSurfaceRef surface);
STANDIN_EXPORT uint32_t IOSurfaceGetPixelFormat(IOSurfaceRef surface);
STANDIN_EXPORT uint32_t IOSurfaceGetID(IOSurfaceRef surface);
STANDIN_EXPORT const void* CFRetain(const void* object);
STANDIN_EXPORT void CFRelease(const void* object);

// Is any CPU lock held? Used by evaluate.
bool standin_surface_is_locked(IOSurfaceRef surface);
