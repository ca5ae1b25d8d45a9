// _ANEClient: the same daemon over a folder of the caller's own (plan B), and the calls that an ordinary
// process is refused: real time, chaining, mutable weights.
//
// compileModel: wants kANEFModelType = kANEFModelMIL in its options, and takes the file that
// kANEFNetPlistFilenameKey names (model.mil if none); anything else is not MIL for the compiler. loadModel:
// of a model that the vault does not hold compiles first, with the options it got.
#import <Foundation/Foundation.h>

#import "model.h"
#import "publish.h"

@interface StandinClient : NSObject
@end

static StandinClient* s_shared;

static void want_options(id options, SEL cmd) {
  if (options == nil)
    [NSException raise:NSInvalidArgumentException format:@"%s: options is nil", sel_getName(cmd)];
}

static bool is_mil(NSDictionary* options) {
  return [[options objectForKey:@"kANEFModelType"] isEqual:@"kANEFModelMIL"];
}

static struct StandinBundle bundle_of(StandinModel* model, NSDictionary* options) {
  NSString* name = [options objectForKey:@"kANEFNetPlistFilenameKey"];
  return (struct StandinBundle){
      .folder = [[model->url path] UTF8String],
      .mil_name = name != nil ? [name UTF8String] : "model.mil",
  };
}

static bool compile(id self, SEL cmd, StandinModel* model, NSDictionary* options, unsigned qos,
                    NSError** error) {
  (void)self;
  (void)qos;
  standin_enter(cmd);
  want_options(options, cmd);
  if (!is_mil(options)) return standin_fail(STANDIN_INVALID_SOURCE, cmd, [model->url path], error);
  const struct StandinBundle bundle = bundle_of(model, options);
  return standin_model_compile(model, &bundle, cmd, error);
}

static bool load(id self, SEL cmd, StandinModel* model, NSDictionary* options, unsigned qos,
                 NSError** error) {
  (void)self;
  (void)qos;
  standin_enter(cmd);
  want_options(options, cmd);
  const struct StandinBundle bundle = bundle_of(model, options);
  return standin_model_load(model, is_mil(options) ? &bundle : NULL, cmd, error);
}

static bool unload(id self, SEL cmd, StandinModel* model, NSDictionary* options, unsigned qos,
                   NSError** error) {
  (void)self;
  (void)qos;
  standin_enter(cmd);
  want_options(options, cmd);
  return standin_model_unload(model, cmd, error);
}

static bool evaluate(id self, SEL cmd, StandinModel* model, NSDictionary* options, StandinRequest* request,
                     unsigned qos, NSError** error) {
  (void)self;
  (void)options;
  (void)qos;
  standin_enter(cmd);
  return standin_model_evaluate(model, request, cmd, error);
}

static bool exists(id self, SEL cmd, StandinModel* model) {
  (void)self;
  standin_enter(cmd);
  STANDIN_COUNT(exists, 1);
  return model != nil && standin_daemon_exists(!model->in_memory, [model->identifier UTF8String]);
}
static bool exists_hash(id self, SEL cmd, NSString* hash) {
  (void)self;
  standin_enter(cmd);
  STANDIN_COUNT(exists, 1);
  return hash != nil && standin_daemon_exists(false, [hash UTF8String]);
}
static void purge(id self, SEL cmd, StandinModel* model) {
  (void)self;
  standin_enter(cmd);
  STANDIN_COUNT(purges, 1);
  if (model != nil) standin_daemon_purge(!model->in_memory, [model->identifier UTF8String]);
}
static void purge_hash(id self, SEL cmd, NSString* hash) {
  (void)self;
  standin_enter(cmd);
  STANDIN_COUNT(purges, 1);
  if (hash != nil) standin_daemon_purge(false, [hash UTF8String]);
}

// ---- what an ordinary process is refused

static bool refused_model(id self, SEL cmd, id model, id options, unsigned qos, NSError** error) {
  (void)self, (void)model, (void)options, (void)qos;
  standin_enter(cmd);
  return standin_fail(STANDIN_NEEDS_ENTITLEMENT, cmd, @"", error);
}
static bool refused_evaluate(id self, SEL cmd, id model, id options, id request, NSError** error) {
  (void)self, (void)model, (void)options, (void)request;
  standin_enter(cmd);
  return standin_fail(STANDIN_NEEDS_ENTITLEMENT, cmd, @"", error);
}
static bool refused_task(id self, SEL cmd) {
  (void)self;
  standin_enter(cmd);
  return false;
}
static bool refused_chaining(id self, SEL cmd, id model, id a, id b, unsigned qos, NSError** error) {
  (void)self, (void)model, (void)a, (void)b, (void)qos;
  standin_enter(cmd);
  return standin_fail(STANDIN_CHAINING_REFUSED, cmd, @"", error);
}
static bool refused_hint(id self, SEL cmd, id model, id hint, id options, id report, NSError** error) {
  (void)self, (void)model, (void)hint, (void)options, (void)report;
  standin_enter(cmd);
  return standin_fail(STANDIN_UNSUPPORTED, cmd, @"", error);
}
static bool refused_weights(id self, SEL cmd, id model, id procedure, uint64_t a, uint64_t b,
                            NSError** error) {
  (void)self, (void)model, (void)procedure, (void)a, (void)b;
  standin_enter(cmd);
  return standin_fail(STANDIN_UNSUPPORTED, cmd, @"", error);
}
static bool refused_unmap_weights(id self, SEL cmd, id model, id procedure) {
  (void)self, (void)model, (void)procedure;
  standin_enter(cmd);
  return false;
}

// ---- mapping ahead is allowed on this route and changes nothing

static bool map_surfaces(id self, SEL cmd, StandinModel* model, id request, bool cache, NSError** error) {
  (void)self, (void)request, (void)cache;
  standin_enter(cmd);
  return standin_daemon_is_loaded(model->program) || standin_fail(STANDIN_MAP_REFUSED, cmd, @"", error);
}
static void unmap_surfaces(id self, SEL cmd, id model, id request) {
  (void)self, (void)model, (void)request;
  standin_enter(cmd);
}
static void set_purgeability(id self, SEL cmd, id hash, uint64_t level) {
  (void)self, (void)hash, (void)level;
  standin_enter(cmd);
}

static id shared(id self, SEL cmd) {
  standin_enter(cmd);
  @synchronized(self) {
    if (s_shared == nil) s_shared = NSAllocateObject(self, 0, NULL);
  }
  return s_shared;
}
static id init_client(id self, SEL cmd, bool restricted) {
  (void)restricted;
  standin_enter(cmd);
  return self;
}

@implementation StandinClient
#define MODEL_CALL "B44@0:8@16@24I32^@36"
#define EVALUATE_CALL "B52@0:8@16@24@32I40^@44"
+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {"sharedConnection", "@16@0:8", (IMP)shared, STANDIN_CLASS},
      {"sharedPrivateConnection", "@16@0:8", (IMP)shared, STANDIN_CLASS},
      {"new", "@16@0:8", (IMP)standin_nil, STANDIN_CLASS},
      {"initWithRestrictedAccessAllowed:", "@20@0:8B16", (IMP)init_client, STANDIN_INSTANCE},
      {"compileModel:options:qos:error:", MODEL_CALL, (IMP)compile, STANDIN_INSTANCE},
      {"loadModel:options:qos:error:", MODEL_CALL, (IMP)load, STANDIN_INSTANCE},
      {"unloadModel:options:qos:error:", MODEL_CALL, (IMP)unload, STANDIN_INSTANCE},
      {"doLoadModel:options:qos:error:", MODEL_CALL, (IMP)load, STANDIN_INSTANCE},
      {"doUnloadModel:options:qos:error:", MODEL_CALL, (IMP)unload, STANDIN_INSTANCE},
      {"loadRealTimeModel:options:qos:error:", MODEL_CALL, (IMP)refused_model, STANDIN_INSTANCE},
      {"unloadRealTimeModel:options:qos:error:", MODEL_CALL, (IMP)refused_model, STANDIN_INSTANCE},
      {"evaluateWithModel:options:request:qos:error:", EVALUATE_CALL, (IMP)evaluate, STANDIN_INSTANCE},
      {"doEvaluateDirectWithModel:options:request:qos:error:", EVALUATE_CALL, (IMP)evaluate,
       STANDIN_INSTANCE},
      {"evaluateRealTimeWithModel:options:request:error:", "B48@0:8@16@24@32^@40", (IMP)refused_evaluate,
       STANDIN_INSTANCE},
      {"beginRealTimeTask", "B16@0:8", (IMP)refused_task, STANDIN_INSTANCE},
      {"endRealTimeTask", "B16@0:8", (IMP)refused_task, STANDIN_INSTANCE},
      {"mapIOSurfacesWithModel:request:cacheInference:error:", "B44@0:8@16@24B32^@36", (IMP)map_surfaces,
       STANDIN_INSTANCE},
      {"unmapIOSurfacesWithModel:request:", "v32@0:8@16@24", (IMP)unmap_surfaces, STANDIN_INSTANCE},
      {"prepareChainingWithModel:options:chainingReq:qos:error:", EVALUATE_CALL, (IMP)refused_chaining,
       STANDIN_INSTANCE},
      {"enqueueSetsWithModel:outputSet:options:qos:error:", EVALUATE_CALL, (IMP)refused_chaining,
       STANDIN_INSTANCE},
      {"buffersReadyWithModel:inputBuffers:options:qos:error:", EVALUATE_CALL, (IMP)refused_chaining,
       STANDIN_INSTANCE},
      {"sessionHintWithModel:hint:options:report:error:", "B56@0:8@16@24@32@40^@48", (IMP)refused_hint,
       STANDIN_INSTANCE},
      {"compiledModelExistsFor:", "B24@0:8@16", (IMP)exists, STANDIN_INSTANCE},
      {"compiledModelExistsMatchingHash:", "B24@0:8@16", (IMP)exists_hash, STANDIN_INSTANCE},
      {"purgeCompiledModel:", "v24@0:8@16", (IMP)purge, STANDIN_INSTANCE},
      {"purgeCompiledModelMatchingHash:", "v24@0:8@16", (IMP)purge_hash, STANDIN_INSTANCE},
      {"mapMutableWeightsForModel:andProcedure:mappedWeightsBuffer:size:error:", "B56@0:8@16@24^^v32^Q40^@48",
       (IMP)refused_weights, STANDIN_SINCE_27},
      {"syncMutableWeightsForModel:andProcedure:fromOffset:withSize:error:", "B56@0:8@16@24Q32Q40^@48",
       (IMP)refused_weights, STANDIN_SINCE_27},
      {"unmapMutableWeightsForModel:andProcedure:", "B32@0:8@16@24", (IMP)refused_unmap_weights,
       STANDIN_SINCE_27},
      {"updatePurgeabilityLevelForModelTrackedByHash:to:", "v32@0:8@16Q24", (IMP)set_purgeability,
       STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANEClient", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
