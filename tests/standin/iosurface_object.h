// _ANEIOSurfaceObject.
#import "iosurface.h"

@interface StandinIOSurfaceObject : NSObject {
 @public
  IOSurfaceRef surface;
  NSNumber* start_offset;
}
@end
