// Pools and the count of objects that were autoreleased without any. gnustep leaks such an object, as happens
// on a Mac in a thread without a run loop, and says so through NSLog, whoever made it; the line is counted
// instead of printed. All other lines go to the standard error, as they did.
//
// StandinTemporary stands for what a compile autoreleases: it keeps the program's place in the pool until it
// is drained.
#import "publish.h"
#import "temporary.h"

@interface StandinPools : NSObject
@end

static void count_or_print(NSString* line) {
  if ([line rangeOfString:@"autorelease called without pool"].location != NSNotFound)
    STANDIN_COUNT(autoreleased_without_pool, 1);
  else
    fprintf(stderr, "%s", [line UTF8String]);
}

@implementation StandinPools
+ (void)load {
  _NSLog_printf_handler = count_or_print;
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
