// _ANEInMemoryModel, the wrapper with its side effects: it writes net.plist and the weights under the name of
// their dictionary key ("data"), never model.mil nor weights/weight.bin, which the caller has to put there
// before; it drops the descriptor when it has written; it removes the folder at unload, whether or not that
// succeeded; it does not unload at dealloc. A second compile after an unload writes nothing (the URL is set
// already).
//
// States: 0 made, 3 loaded, 5 gone. What is loaded lives in `model`.
#import <Foundation/Foundation.h>

#import "descriptor.h"
#import "model.h"
#import "publish.h"

@interface StandinInMemoryModel : NSObject {
 @public
  StandinDescriptor* descriptor;
  NSString* identifier;
  NSDictionary *file_hashes, *attributes;
  NSURL* url;
  StandinModel* model;
  id program, connection;
  NSString* options_file;
  bool is_mil, url_was_set;
  uint64_t state;
  unsigned stats_mask;
  signed char depth;
}
@end

static NSString* folder_of(StandinInMemoryModel* self) {
  return [NSString stringWithFormat:@"%s/%@", standin_temporary_directory(), self->identifier];
}

// ---- the staged folder

static bool write_weights(StandinInMemoryModel* self, NSString* folder) {
  NSArray* entries = [self->descriptor->weights allValues];
  for (NSUInteger i = 0; i < [entries count]; ++i) {
    NSDictionary* entry = [entries objectAtIndex:i];
    NSString* key = standin_first_key(entry);
    if (![[entry objectForKey:key] writeToFile:[folder stringByAppendingPathComponent:key] atomically:NO])
      return false;
  }
  return true;
}

static NSURL* save_files(StandinInMemoryModel* self) {
  if (self->url != nil) return self->url;
  if (self->descriptor == nil) return nil;
  NSString* folder = folder_of(self);
  if (![[NSFileManager defaultManager] createDirectoryAtPath:folder
                                 withIntermediateDirectories:YES
                                                  attributes:nil
                                                       error:NULL])
    return nil;
  if (![self->descriptor->text writeToFile:[folder stringByAppendingPathComponent:@"net.plist"]
                                atomically:NO])
    return nil;
  NSData* options = self->descriptor->options;
  if (options != nil &&
      ![options writeToFile:[folder stringByAppendingPathComponent:@"compiler_options.plist"] atomically:NO])
    return nil;
  if (!write_weights(self, folder)) return nil;
  standin_assign((id*)&self->url, [NSURL fileURLWithPath:folder isDirectory:YES]);
  standin_assign((id*)&self->descriptor, nil);
  return self->url;
}

// Calls `use` with the folder as the daemon gets to see it.
typedef bool (*UseBundle)(StandinModel*, const struct StandinBundle*, SEL, NSError**);
static bool with_bundle(StandinInMemoryModel* self, UseBundle use, SEL cmd, NSError** error) {
  NSArray* names = [self->file_hashes allKeys];
  const size_t count = [names count];
  const char* name_texts[count + 1];
  const char* hashes[count + 1];
  for (size_t i = 0; i < count; ++i) {
    name_texts[i] = [[names objectAtIndex:i] UTF8String];
    hashes[i] = [[self->file_hashes objectForKey:[names objectAtIndex:i]] UTF8String];
  }
  const struct StandinBundle bundle = {
      .folder = [[self->url path] UTF8String],
      .mil_name = self->is_mil ? "model.mil" : "",
      .in_memory = true,
      .url_was_set = self->url_was_set,
      .redirected = standin_temp_is_redirected(),
      .hash_count = count,
      .hash_names = name_texts,
      .hashes = hashes,
  };
  return use(self->model, &bundle, cmd, error);
}

static void want_options(id options, SEL cmd) {
  if (options == nil)
    [NSException raise:NSInvalidArgumentException format:@"%s: options is nil", sel_getName(cmd)];
}

// ---- the calls

static bool exists(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  STANDIN_COUNT(exists, 1);
  return standin_daemon_exists(false, [self->identifier UTF8String]);
}

static bool compile(StandinInMemoryModel* self, SEL cmd, unsigned qos, id options, NSError** error) {
  (void)qos;
  standin_enter(cmd);
  want_options(options, cmd);
  if (save_files(self) == nil) return false;
  return with_bundle(self, standin_model_compile, cmd, error);
}

static bool load_cached(StandinInMemoryModel* self, SEL cmd, NSError** error) {
  if (self->url_was_set && standin_system() >= 27)
    return standin_fail(STANDIN_INVALID_MODEL, cmd, @"", error);
  return standin_model_load(self->model, NULL, cmd, error);
}

static bool load(StandinInMemoryModel* self, SEL cmd, unsigned qos, id options, NSError** error) {
  (void)qos;
  standin_enter(cmd);
  want_options(options, cmd);
  bool loaded = false;
  if (standin_daemon_exists(false, [self->identifier UTF8String]))
    loaded = load_cached(self, cmd, error);
  else if (save_files(self) != nil)
    loaded = with_bundle(self, standin_model_load, cmd, error);
  if (!loaded) return false;
  standin_assign((id*)&self->attributes, self->model->attributes);
  self->depth = 127;
  self->state = 3;
  return true;
}

static bool evaluate(StandinInMemoryModel* self, SEL cmd, unsigned qos, id options, StandinRequest* request,
                     NSError** error) {
  (void)qos;
  (void)options;
  standin_enter(cmd);
  return standin_model_evaluate(self->model, request, cmd, error);
}

static bool unload(StandinInMemoryModel* self, SEL cmd, unsigned qos, NSError** error) {
  (void)qos;
  standin_enter(cmd);
  const bool done = standin_model_unload(self->model, cmd, error);
  [[NSFileManager defaultManager] removeItemAtPath:folder_of(self) error:NULL];
  if (done) self->state = 0;
  return done;
}

static void purge(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  STANDIN_COUNT(purges, 1);
  standin_daemon_purge(false, [self->identifier UTF8String]);
}

// One author's finding for this object: mapping is refused with status 0x12.
static bool map_surfaces(StandinInMemoryModel* self, SEL cmd, id request, bool cache, NSError** error) {
  (void)self;
  (void)request;
  (void)cache;
  standin_enter(cmd);
  return standin_fail(STANDIN_MAP_REFUSED, cmd, @"", error);
}
static void unmap_surfaces(StandinInMemoryModel* self, SEL cmd, id request) {
  (void)self;
  (void)request;
  standin_enter(cmd);
}

static id compiler_options(StandinInMemoryModel* self, SEL cmd, NSDictionary* options, bool cached) {
  standin_enter(cmd);
  NSMutableDictionary* all = [NSMutableDictionary dictionaryWithDictionary:options];
  [all setObject:@"kANEFModelMIL" forKey:@"kANEFModelType"];
  [all setObject:self->identifier forKey:@"kANEFIsInMemoryModelTypeKey"];
  [all setObject:[NSNumber numberWithInt:cached] forKey:@"kANEFInMemoryModelIsCachedKey"];
  if (self->options_file != nil) [all setObject:self->options_file forKey:@"kANEFCompilerOptionsFilenameKey"];
  return all;
}

// ---- making and properties

static id make(id class, StandinDescriptor* descriptor) {
  if (![descriptor isKindOfClass:[StandinDescriptor class]]) return nil;
  StandinInMemoryModel* one = NSAllocateObject(class, 0, NULL);
  one->descriptor = [descriptor retain];
  one->identifier = [descriptor->identifier copy];
  one->file_hashes = [descriptor->file_hashes retain];
  one->is_mil = descriptor->is_mil;
  one->attributes = [[NSDictionary alloc] init];
  one->model = standin_model_make(one->identifier);
  if (descriptor->options != nil) one->options_file = [@"compiler_options.plist" retain];
  Class client = objc_getClass("_ANEClient");
  if (client != Nil) one->connection = [[client performSelector:sel_registerName("sharedConnection")] retain];
  STANDIN_COUNT(in_memory_models_alive, 1);
  return one;
}

static id with_descriptor(id self, SEL cmd, StandinDescriptor* descriptor) {
  standin_enter(cmd);
  return [make(self, descriptor) autorelease];
}
static id init_nil(id self, SEL cmd) {
  STANDIN_COUNT(in_memory_models_alive, 1);  // of self, which dealloc takes off again
  return standin_nil(self, cmd);
}
static id init_with_descriptor(StandinInMemoryModel* self, SEL cmd, StandinDescriptor* descriptor) {
  standin_enter(cmd);
  id made = make(object_getClass(self), descriptor);
  (void)init_nil(self, cmd);
  return made;
}

static id get_identifier(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  return self->identifier;
}
static id get_folder(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  return folder_of(self);
}
static id save_model_files(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  return save_files(self);
}
static id get_attributes(StandinInMemoryModel* self, SEL cmd) {
  standin_enter(cmd);
  return [[self->attributes retain] autorelease];
}
static void set_url(StandinInMemoryModel* self, SEL cmd, NSURL* url) {
  standin_enter(cmd);
  self->url_was_set = true;
  standin_assign((id*)&self->url, url);
}

#define GETTER(name, field)                             \
  static id name(StandinInMemoryModel* self, SEL cmd) { \
    (void)cmd;                                          \
    return self->field;                                 \
  }
#define SETTER(name, field)                                         \
  static void name(StandinInMemoryModel* self, SEL cmd, id value) { \
    standin_enter(cmd);                                             \
    standin_assign((id*)&self->field, value);                       \
  }
#define NUMBER(name, type, value)                         \
  static type name(StandinInMemoryModel* self, SEL cmd) { \
    (void)cmd;                                            \
    (void)self;                                           \
    return value;                                         \
  }
GETTER(get_url, url)
GETTER(get_descriptor, descriptor)
GETTER(get_program, program)
GETTER(get_model, model)
GETTER(get_connection, connection)
GETTER(get_options_file, options_file)
GETTER(get_file_hashes, file_hashes)
SETTER(set_descriptor, descriptor)
SETTER(set_model, model)
SETTER(set_program, program)
SETTER(set_attributes, attributes)
SETTER(set_options_file, options_file)
SETTER(set_file_hashes, file_hashes)
NUMBER(get_handle, uint64_t,
       standin_daemon_is_loaded(self->model->program) ? (uint64_t)(uintptr_t)self->model->program : 0)
NUMBER(get_zero, uint64_t, 0)
NUMBER(get_state, uint64_t, self->state)
NUMBER(get_depth, signed char, self->depth)
NUMBER(get_mask, unsigned, self->stats_mask)
NUMBER(get_is_mil, bool, self->is_mil)

static void set_depth(StandinInMemoryModel* self, SEL cmd, signed char depth) {
  (void)cmd;
  self->depth = depth;
}
static void set_mask(StandinInMemoryModel* self, SEL cmd, unsigned mask) {
  (void)cmd;
  self->stats_mask = mask;
}

@implementation StandinInMemoryModel
- (void)dealloc {
  state = 5;
  [descriptor release];
  [identifier release];
  [file_hashes release];
  [attributes release];
  [url release];
  [model release];
  [program release];
  [connection release];
  [options_file release];
  STANDIN_COUNT(in_memory_models_alive, -1);
  [super dealloc];
}

+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {"inMemoryModelWithDescriptor:", "@24@0:8@16", (IMP)with_descriptor, STANDIN_CLASS},
      {"initWithDesctiptor:", "@24@0:8@16", (IMP)init_with_descriptor, STANDIN_INSTANCE},
      {"new", "@16@0:8", (IMP)standin_nil, STANDIN_CLASS},
      {"init", "@16@0:8", (IMP)init_nil, STANDIN_INSTANCE},
      {"hexStringIdentifier", "@16@0:8", (IMP)get_identifier, STANDIN_INSTANCE},
      {"localModelPath", "@16@0:8", (IMP)get_folder, STANDIN_INSTANCE},
      {"saveModelFiles", "@16@0:8", (IMP)save_model_files, STANDIN_INSTANCE},
      {"compiledModelExists", "B16@0:8", (IMP)exists, STANDIN_INSTANCE},
      {"compileWithQoS:options:error:", "B36@0:8I16@20^@28", (IMP)compile, STANDIN_INSTANCE},
      {"loadWithQoS:options:error:", "B36@0:8I16@20^@28", (IMP)load, STANDIN_INSTANCE},
      {"evaluateWithQoS:options:request:error:", "B44@0:8I16@20@28^@36", (IMP)evaluate, STANDIN_INSTANCE},
      {"unloadWithQoS:error:", "B28@0:8I16^@20", (IMP)unload, STANDIN_INSTANCE},
      {"purgeCompiledModel", "v16@0:8", (IMP)purge, STANDIN_INSTANCE},
      {"mapIOSurfacesWithRequest:cacheInference:error:", "B36@0:8@16B24^@28", (IMP)map_surfaces,
       STANDIN_INSTANCE},
      {"unmapIOSurfacesWithRequest:", "v24@0:8@16", (IMP)unmap_surfaces, STANDIN_INSTANCE},
      {"compilerOptionsWithOptions:isCompiledModelCached:", "@28@0:8@16B24", (IMP)compiler_options,
       STANDIN_INSTANCE},
      {"program", "@16@0:8", (IMP)get_program, STANDIN_INSTANCE},
      {"model", "@16@0:8", (IMP)get_model, STANDIN_INSTANCE},
      {"modelAttributes", "@16@0:8", (IMP)get_attributes, STANDIN_INSTANCE},
      {"modelURL", "@16@0:8", (IMP)get_url, STANDIN_INSTANCE},
      {"descriptor", "@16@0:8", (IMP)get_descriptor, STANDIN_INSTANCE},
      {"sharedConnection", "@16@0:8", (IMP)get_connection, STANDIN_INSTANCE},
      {"compilerOptionsFileName", "@16@0:8", (IMP)get_options_file, STANDIN_INSTANCE},
      {"perFileHashes", "@16@0:8", (IMP)get_file_hashes, STANDIN_SINCE_27},
      {"programHandle", "Q16@0:8", (IMP)get_handle, STANDIN_INSTANCE},
      {"intermediateBufferHandle", "Q16@0:8", (IMP)get_zero, STANDIN_INSTANCE},
      {"state", "Q16@0:8", (IMP)get_state, STANDIN_INSTANCE},
      {"string_id", "Q16@0:8", (IMP)get_zero, STANDIN_INSTANCE},
      {"queueDepth", "c16@0:8", (IMP)get_depth, STANDIN_INSTANCE},
      {"setQueueDepth:", "v20@0:8c16", (IMP)set_depth, STANDIN_INSTANCE},
      {"perfStatsMask", "I16@0:8", (IMP)get_mask, STANDIN_INSTANCE},
      {"setPerfStatsMask:", "v20@0:8I16", (IMP)set_mask, STANDIN_INSTANCE},
      {"setModelURL:", "v24@0:8@16", (IMP)set_url, STANDIN_INSTANCE},
      {"setDescriptor:", "v24@0:8@16", (IMP)set_descriptor, STANDIN_INSTANCE},
      {"setModel:", "v24@0:8@16", (IMP)set_model, STANDIN_INSTANCE},
      {"setProgram:", "v24@0:8@16", (IMP)set_program, STANDIN_INSTANCE},
      {"setModelAttributes:", "v24@0:8@16", (IMP)set_attributes, STANDIN_INSTANCE},
      {"setCompilerOptionsFileName:", "v24@0:8@16", (IMP)set_options_file, STANDIN_INSTANCE},
      {"setPerFileHashes:", "v24@0:8@16", (IMP)set_file_hashes, STANDIN_SINCE_27},
      {"isMILModel", "B16@0:8", (IMP)get_is_mil, STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANEInMemoryModel", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
