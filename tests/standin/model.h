// _ANEModel, and the calls on one model that the client route and the in-memory route share.
#import <Foundation/Foundation.h>

#include "daemon.h"
#include "request.h"

@interface StandinModel : NSObject {
 @public
  NSURL* url;
  NSString *key, *identifier;
  NSDictionary* attributes;
  struct StandinProgram* program;
  bool in_memory;
  bool was_loaded;
  unsigned stats_mask;
}
@end

// For the in-memory route: the identifier is the hexStringIdentifier. Owned by the caller.
StandinModel* standin_model_make(NSString* identifier);

// `method` is the selector that error texts name. They enter and leave the life cycle.
bool standin_model_compile(StandinModel* model, const struct StandinBundle* bundle, SEL method,
                           NSError** error);
// Compiles `bundle` (may be NULL) when the vault holds nothing.
bool standin_model_load(StandinModel* model, const struct StandinBundle* bundle, SEL method, NSError** error);
bool standin_model_unload(StandinModel* model, SEL method, NSError** error);
bool standin_model_evaluate(StandinModel* model, StandinRequest* request, SEL method, NSError** error);

// attributes.m; autoreleased.
NSDictionary* standin_attributes(const struct StandinProgram* program);
