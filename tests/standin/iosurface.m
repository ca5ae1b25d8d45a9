// Memory is mapped in whole pages of 16 KiB and filled with STANDIN_FRESH_SURFACE, so that a caller that
// forgets to zero it computes with something it can see. Properties are what answers -objectForKey: (an
// NSDictionary; a real CFDictionary is one). As in the original, AllocSize may be left out (rows × bytes per
// row) or ask for more.
#import "iosurface.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "counters.h"

enum { kPage = 16384, kReadOnly = 1, kInvalidSurface = -536870206 /* kIOReturnBadArgument */ };

STANDIN_EXPORT NSString* const kIOSurfaceAllocSize = @"IOSurfaceAllocSize";
STANDIN_EXPORT NSString* const kIOSurfaceWidth = @"IOSurfaceWidth";
STANDIN_EXPORT NSString* const kIOSurfaceHeight = @"IOSurfaceHeight";
STANDIN_EXPORT NSString* const kIOSurfaceBytesPerElement = @"IOSurfaceBytesPerElement";
STANDIN_EXPORT NSString* const kIOSurfaceBytesPerRow = @"IOSurfaceBytesPerRow";
STANDIN_EXPORT NSString* const kIOSurfaceElementWidth = @"IOSurfaceElementWidth";
STANDIN_EXPORT NSString* const kIOSurfaceElementHeight = @"IOSurfaceElementHeight";
STANDIN_EXPORT NSString* const kIOSurfaceOffset = @"IOSurfaceOffset";
STANDIN_EXPORT NSString* const kIOSurfacePixelFormat = @"IOSurfacePixelFormat";
STANDIN_EXPORT NSString* const kIOSurfaceName = @"IOSurfaceName";

@implementation StandinIOSurface
- (void)dealloc {
  munmap(base, alloc_size);
  STANDIN_COUNT(surfaces_alive, -1);
  [super dealloc];
}
@end

static size_t number_of(id properties, NSString* key, size_t otherwise) {
  id value = [properties objectForKey:key];
  return [value isKindOfClass:[NSNumber class]] ? (size_t)[value unsignedLongLongValue] : otherwise;
}

IOSurfaceRef IOSurfaceCreate(id properties) {
  static uint32_t s_identifier;
  if (properties == nil) return NULL;
  const size_t width = number_of(properties, kIOSurfaceWidth, 0);
  const size_t height = number_of(properties, kIOSurfaceHeight, 0);
  const size_t element = number_of(properties, kIOSurfaceBytesPerElement, 1);
  const size_t row = number_of(properties, kIOSurfaceBytesPerRow, width * element);
  const size_t wanted = number_of(properties, kIOSurfaceAllocSize, row * height);
  if (width == 0 || height == 0 || row < width * element || wanted < row * height) return NULL;
  const size_t size = (wanted + kPage - 1) / kPage * kPage;
  void* base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  memset(base, STANDIN_FRESH_SURFACE, size);
  StandinIOSurface* surface = [[StandinIOSurface alloc] init];
  surface->base = base;
  surface->alloc_size = size;
  surface->width = width;
  surface->height = height;
  surface->bytes_per_element = element;
  surface->bytes_per_row = row;
  surface->pixel_format = (uint32_t)number_of(properties, kIOSurfacePixelFormat, 0);
  surface->identifier = __atomic_add_fetch(&s_identifier, 1, __ATOMIC_RELAXED);
  STANDIN_COUNT(surfaces_alive, 1);
  return (IOSurfaceRef)surface;
}

static int* locks_of(IOSurfaceRef surface, uint32_t options) {
  StandinIOSurface* one = (StandinIOSurface*)surface;
  return (options & kReadOnly) != 0 ? &one->read_locks : &one->write_locks;
}

int IOSurfaceLock(IOSurfaceRef surface, uint32_t options, uint32_t* seed) {
  if (surface == NULL) return kInvalidSurface;
  __atomic_add_fetch(locks_of(surface, options), 1, __ATOMIC_RELAXED);
  if (seed != NULL) *seed = 0;
  return 0;
}

int IOSurfaceUnlock(IOSurfaceRef surface, uint32_t options, uint32_t* seed) {
  if (surface == NULL) return kInvalidSurface;
  if (__atomic_sub_fetch(locks_of(surface, options), 1, __ATOMIC_RELAXED) < 0) {
    __atomic_add_fetch(locks_of(surface, options), 1, __ATOMIC_RELAXED);
    STANDIN_COUNT(unbalanced_locks, 1);
    return kInvalidSurface;
  }
  if (seed != NULL) *seed = 0;
  return 0;
}

bool standin_surface_is_locked(IOSurfaceRef surface) {
  StandinIOSurface* one = (StandinIOSurface*)surface;
  return one->read_locks > 0 || one->write_locks > 0;
}

void* IOSurfaceGetBaseAddress(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->base : NULL;
}
size_t IOSurfaceGetAllocSize(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->alloc_size : 0;
}
size_t IOSurfaceGetWidth(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->width : 0;
}
size_t IOSurfaceGetHeight(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->height : 0;
}
size_t IOSurfaceGetBytesPerElement(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->bytes_per_element : 0;
}
size_t IOSurfaceGetBytesPerRow(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->bytes_per_row : 0;
}
uint32_t IOSurfaceGetPixelFormat(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->pixel_format : 0;
}
uint32_t IOSurfaceGetID(IOSurfaceRef surface) {
  return surface != NULL ? ((StandinIOSurface*)surface)->identifier : 0;
}

const void* CFRetain(const void* object) {
  return [(id)object retain];
}
void CFRelease(const void* object) {
  [(id)object release];
}
