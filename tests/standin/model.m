// _ANEModel. Its cacheURLIdentifier is made of path and key, not of contents: the daemon believes that a key
// names one set of bytes.
//
// A model that is released while loaded stays loaded (its program is leaked on purpose and counted): dealloc
// does not unload. Options must not be nil; who passes nil gets an exception, as from the original's
// dictionary calls.
#import "model.h"

#import "iosurface_object.h"
#import "publish.h"
#import "temporary.h"

static NSString* sha_of(NSString* text) {
  const char* bytes = [text UTF8String];
  char hex[65];
  standin_sha256(bytes, strlen(bytes), NULL, 0, hex);
  return [NSString stringWithUTF8String:hex];
}

StandinModel* standin_model_make(NSString* identifier) {
  Class published = objc_getClass("_ANEModel");
  StandinModel* model = NSAllocateObject(published != Nil ? published : [StandinModel class], 0, NULL);
  model->identifier = [identifier copy];
  model->in_memory = true;
  STANDIN_COUNT(client_models_alive, 1);
  return model;
}

static void compile_started(StandinModel* model) {
  if (model->program == NULL) model->program = standin_program_make();
  [StandinTemporary autoreleaseHolding:model->program];
}

static NSString* path_of(const struct StandinBundle* bundle) {
  return bundle != NULL ? [NSString stringWithUTF8String:bundle->folder] : @"";
}

bool standin_model_compile(StandinModel* model, const struct StandinBundle* bundle, SEL method,
                           NSError** error) {
  if (standin_planned_failure("fail_compile", error)) return false;
  standin_lifecycle_enter();
  compile_started(model);
  const enum StandinOutcome outcome =
      standin_daemon_compile(!model->in_memory, [model->identifier UTF8String], bundle);
  standin_lifecycle_leave();
  return outcome == STANDIN_OK || standin_fail(outcome, method, path_of(bundle), error);
}

static enum StandinOutcome load(StandinModel* model, const struct StandinBundle* bundle) {
  const char* id = [model->identifier UTF8String];
  if (model->program == NULL) model->program = standin_program_make();
  enum StandinOutcome outcome = standin_daemon_load(!model->in_memory, id, model->program);
  if (outcome != STANDIN_FILE_NOT_FOUND || bundle == NULL) return outcome;
  compile_started(model);
  outcome = standin_daemon_compile(!model->in_memory, id, bundle);
  return outcome == STANDIN_OK ? standin_daemon_load(!model->in_memory, id, model->program) : outcome;
}

bool standin_model_load(StandinModel* model, const struct StandinBundle* bundle, SEL method,
                        NSError** error) {
  if (standin_planned_failure("fail_load", error)) return false;
  if (standin_daemon_is_loaded(model->program)) return true;
  standin_lifecycle_enter();
  const enum StandinOutcome outcome = load(model, bundle);
  standin_lifecycle_leave();
  if (outcome != STANDIN_OK) return standin_fail(outcome, method, path_of(bundle), error);
  model->was_loaded = true;
  standin_assign(&model->attributes, standin_attributes(model->program));
  return true;
}

bool standin_model_unload(StandinModel* model, SEL method, NSError** error) {
  STANDIN_COUNT(unloads, 1);
  if (standin_planned_failure("fail_unload", error)) return false;
  if (!standin_daemon_is_loaded(model->program))
    return standin_fail(STANDIN_PROGRAM_GONE, method, @"", error);
  standin_lifecycle_enter();
  standin_daemon_unload(model->program);
  standin_program_release(model->program);
  model->program = NULL;
  standin_lifecycle_leave();
  STANDIN_COUNT(unloads_done, 1);
  return true;
}

static void count_misuse(NSArray* inputs, NSArray* outputs) {
  for (NSUInteger i = 0; i < [inputs count] + [outputs count]; ++i) {
    const bool is_input = i < [inputs count];
    StandinIOSurfaceObject* one =
        is_input ? [inputs objectAtIndex:i] : [outputs objectAtIndex:i - [inputs count]];
    if (standin_surface_is_locked(one->surface)) STANDIN_COUNT(evaluated_while_locked, 1);
    for (NSUInteger k = 0; is_input && k < [outputs count]; ++k)
      if (((StandinIOSurfaceObject*)[outputs objectAtIndex:k])->surface == one->surface)
        STANDIN_COUNT(aliased_surfaces, 1);
  }
}

// Surface i goes to the port that symbol index i names; each port exactly once.
static bool bind_surfaces(const struct StandinProgram* program, bool output, NSArray* surfaces,
                          NSArray* indices, struct StandinSpan* spans) {
  const size_t ports = standin_program_ports(program, output);
  if ([surfaces count] != ports) return false;
  for (size_t i = 0; i < ports; ++i) {
    const size_t at = [[indices objectAtIndex:i] unsignedLongValue];
    if (at >= ports || spans[at].data != NULL) return false;
    IOSurfaceRef surface = ((StandinIOSurfaceObject*)[surfaces objectAtIndex:i])->surface;
    spans[at] = (struct StandinSpan){IOSurfaceGetBaseAddress(surface), IOSurfaceGetAllocSize(surface)};
  }
  return true;
}

bool standin_model_evaluate(StandinModel* model, StandinRequest* request, SEL method, NSError** error) {
  STANDIN_COUNT(evaluates, 1);
  if (standin_planned_failure("fail_evaluate", error)) return false;
  if (request == nil || !standin_request_is_valid(request)) return false;
  if (!standin_daemon_is_loaded(model->program)) {
    if (!model->was_loaded) return false;
    return standin_fail(STANDIN_PROGRAM_GONE, method, @"", error);
  }
  struct StandinSpan in[256] = {{NULL, 0}}, out[256] = {{NULL, 0}};
  enum StandinOutcome outcome = STANDIN_BAD_INDEX;
  if ([request->procedure_index unsignedLongValue] == 0 &&
      bind_surfaces(model->program, false, request->inputs, request->input_indices, in) &&
      bind_surfaces(model->program, true, request->outputs, request->output_indices, out)) {
    count_misuse(request->inputs, request->outputs);
    outcome =
        standin_daemon_evaluate(model->program, in, [request->inputs count], out, [request->outputs count]);
  }
  if (outcome != STANDIN_OK) return standin_fail(outcome, method, @"", error);
  STANDIN_COUNT(evaluates_done, 1);
  return true;
}

@implementation StandinModel
static id at_url(id self, SEL cmd, NSURL* url, NSString* key) {
  standin_enter(cmd);
  if (url == nil || key == nil || ![url isFileURL]) return nil;
  StandinModel* model = NSAllocateObject(self, 0, NULL);
  model->url = [url copy];
  model->key = [key copy];
  model->identifier =
      [[NSString alloc] initWithFormat:@"%@_%@", sha_of([[url path] stringByStandardizingPath]), sha_of(key)];
  STANDIN_COUNT(client_models_alive, 1);
  return [model autorelease];
}
static id init_nil(id self, SEL cmd) {
  STANDIN_COUNT(client_models_alive, 1);  // of self, which dealloc takes off again
  return standin_nil(self, cmd);
}
static id get_attributes(StandinModel* self, SEL cmd) {
  standin_enter(cmd);
  return [[self->attributes retain] autorelease];
}
static id get_url(StandinModel* self, SEL cmd) {
  (void)cmd;
  return self->url;
}
static id get_key(StandinModel* self, SEL cmd) {
  (void)cmd;
  return self->key;
}
static id get_identifier(StandinModel* self, SEL cmd) {
  (void)cmd;
  return self->identifier;
}
static uint64_t get_handle(StandinModel* self, SEL cmd) {
  (void)cmd;
  return standin_daemon_is_loaded(self->program) ? (uint64_t)(uintptr_t)self->program : 0;
}
static signed char get_depth(StandinModel* self, SEL cmd) {
  (void)cmd;
  return standin_daemon_is_loaded(self->program) ? 127 : 0;
}

- (void)dealloc {
  if (standin_daemon_is_loaded(program))
    STANDIN_COUNT(unloaded_by_nobody, 1);
  else if (program != NULL)
    standin_program_release(program);
  [url release];
  [key release];
  [identifier release];
  [attributes release];
  STANDIN_COUNT(client_models_alive, -1);
  [super dealloc];
}

+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {"modelAtURL:key:", "@32@0:8@16@24", (IMP)at_url, STANDIN_CLASS},
      {"new", "@16@0:8", (IMP)standin_nil, STANDIN_CLASS},
      {"init", "@16@0:8", (IMP)init_nil, STANDIN_INSTANCE},
      {"modelAttributes", "@16@0:8", (IMP)get_attributes, STANDIN_INSTANCE},
      {"modelURL", "@16@0:8", (IMP)get_url, STANDIN_INSTANCE},
      {"key", "@16@0:8", (IMP)get_key, STANDIN_INSTANCE},
      {"cacheURLIdentifier", "@16@0:8", (IMP)get_identifier, STANDIN_INSTANCE},
      {"programHandle", "Q16@0:8", (IMP)get_handle, STANDIN_INSTANCE},
      {"queueDepth", "c16@0:8", (IMP)get_depth, STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANEModel", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
