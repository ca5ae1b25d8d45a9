// _ANEIOSurfaceObject: retains its surface at creation (the NoRetain form takes over the caller's reference)
// and releases it at dealloc. startOffset is kept and, as on the in-memory path of the original, not looked
// at.
#import "iosurface_object.h"

#import "publish.h"

@implementation StandinIOSurfaceObject
static id make(id class, IOSurfaceRef surface, NSNumber* offset, bool retain) {
  if (surface == NULL) return nil;
  StandinIOSurfaceObject* one = NSAllocateObject(class, 0, NULL);
  one->surface = surface;
  if (retain) CFRetain(surface);
  one->start_offset = offset != nil ? [offset retain] : [[NSNumber alloc] initWithInt:0];
  STANDIN_COUNT(surface_objects_alive, 1);
  return [one autorelease];
}

static id with_surface(id self, SEL selector, IOSurfaceRef surface) {
  standin_enter(selector);
  return make(self, surface, nil, true);
}
static id with_offset(id self, SEL selector, IOSurfaceRef surface, NSNumber* offset) {
  standin_enter(selector);
  return make(self, surface, offset, true);
}
static id no_retain(id self, SEL selector, IOSurfaceRef surface, NSNumber* offset) {
  standin_enter(selector);
  return make(self, surface, offset, false);
}
static IOSurfaceRef get_surface(StandinIOSurfaceObject* self, SEL selector) {
  (void)selector;
  return self->surface;
}
static id get_offset(StandinIOSurfaceObject* self, SEL selector) {
  (void)selector;
  return self->start_offset;
}

- (void)dealloc {
  CFRelease(surface);
  [start_offset release];
  STANDIN_COUNT(surface_objects_alive, -1);
  [super dealloc];
}

+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {"objectWithIOSurface:", "@24@0:8^{__IOSurface=}16", (IMP)with_surface, STANDIN_CLASS},
      {"objectWithIOSurface:startOffset:", "@32@0:8^{__IOSurface=}16@24", (IMP)with_offset, STANDIN_CLASS},
      {"objectWithIOSurfaceNoRetain:startOffset:", "@32@0:8^{__IOSurface=}16@24", (IMP)no_retain,
       STANDIN_CLASS},
      {"ioSurface", "^{__IOSurface=}16@0:8", (IMP)get_surface, STANDIN_INSTANCE},
      {"startOffset", "@16@0:8", (IMP)get_offset, STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANEIOSurfaceObject", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
