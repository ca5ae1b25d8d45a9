// Pools and the count of objects that were autoreleased without any. -[NSObject autorelease] is replaced:
// with a pool in place it does what it did; without one it counts, and leaks the object, as it happens on a
// Mac in a thread without a run loop. (gnustep would print a complaint instead.)
//
// StandinTemporary stands for what a compile autoreleases: it keeps the program's place in the pool until it
// is drained.
#import "publish.h"
#import "temporary.h"

@interface StandinPools : NSObject
@end

static IMP s_autorelease;

static id counted_autorelease(id self, SEL selector) {
  if ([NSAutoreleasePool currentPool] != nil) return ((id(*)(id, SEL))s_autorelease)(self, selector);
  STANDIN_COUNT(autoreleased_without_pool, 1);
  return self;
}

@implementation StandinPools
+ (void)load {
  Method method = class_getInstanceMethod([NSObject class], @selector(autorelease));
  s_autorelease = method_getImplementation(method);
  method_setImplementation(method, (IMP)counted_autorelease);
}
@end

@implementation StandinTemporary
+ (void)autoreleaseHolding:(struct StandinProgram*)program {
  StandinTemporary* one = [[StandinTemporary alloc] init];
  standin_program_retain(program);
  one->program = program;
  STANDIN_COUNT(temporaries_alive, 1);
  (void)[one autorelease];
}
- (void)dealloc {
  standin_program_release(program);
  STANDIN_COUNT(temporaries_alive, -1);
  [super dealloc];
}
@end

void* objc_autoreleasePoolPush(void) {
  STANDIN_COUNT(pools_alive, 1);
  return [[NSAutoreleasePool alloc] init];
}

void objc_autoreleasePoolPop(void* pool) {
  STANDIN_COUNT(pools_alive, -1);
  [(NSAutoreleasePool*)pool release];
}
