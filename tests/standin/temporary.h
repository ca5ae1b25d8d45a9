// What a compile leaves in the autorelease pool. See autorelease.m.
#import <Foundation/Foundation.h>

#include "daemon.h"

@interface StandinTemporary : NSObject {
  struct StandinProgram* program;
}
+ (void)autoreleaseHolding:(struct StandinProgram*)program;
@end
