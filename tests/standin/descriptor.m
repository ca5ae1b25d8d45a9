// _ANEInMemoryModelDescriptor: text and options are copied, the weights dictionary is retained as it is. The
// identifier is made here, once: SHA-256 of the text, of four zero bytes and the first values of the weight
// entries in the order of their keys, and of the options.
#import "descriptor.h"

#import "publish.h"

static NSString* hex_of(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  char hex[65];
  standin_sha256(a, a_bytes, b, b_bytes, hex);
  return [NSString stringWithUTF8String:hex];
}

static NSString* hash_of(NSData* data) {
  return hex_of([data bytes], [data length], NULL, 0);
}

// "data" comes first in the dictionaries that everybody passes; a dictionary without it gives its lowest key,
// whose value may be of the wrong kind: then asking for its bytes raises.
NSString* standin_first_key(NSDictionary* entry) {
  if ([entry objectForKey:@"data"] != nil) return @"data";
  return [[[entry allKeys] sortedArrayUsingSelector:@selector(compare:)] objectAtIndex:0];
}

static NSArray* sorted_keys(NSDictionary* dictionary) {
  return [[dictionary allKeys] sortedArrayUsingSelector:@selector(compare:)];
}

static NSData* first_value(NSDictionary* weights, NSString* key) {
  NSDictionary* entry = [weights objectForKey:key];
  return [entry objectForKey:standin_first_key(entry)];
}

static NSString* weights_hash(NSDictionary* weights) {
  NSMutableData* all = [NSMutableData dataWithLength:4];
  NSArray* keys = sorted_keys(weights);
  for (NSUInteger i = 0; i < [keys count]; ++i) {
    NSData* value = first_value(weights, [keys objectAtIndex:i]);
    [all appendBytes:[value bytes] length:[value length]];
  }
  return hash_of(all);
}

static NSDictionary* file_hashes(StandinDescriptor* self) {
  NSMutableDictionary* hashes = [NSMutableDictionary dictionary];
  [hashes setObject:self->text_hash forKey:@"model.mil"];
  NSArray* keys = sorted_keys(self->weights);
  for (NSUInteger i = 0; i < [keys count]; ++i) {
    NSString* key = [keys objectAtIndex:i];
    NSString* name = [key hasPrefix:@"@model_path/"] ? [key substringFromIndex:12] : key;
    [hashes setObject:hash_of(first_value(self->weights, key)) forKey:name];
  }
  return hashes;
}

@implementation StandinDescriptor
static bool is_acceptable(NSData* text, NSDictionary* weights) {
  if (![text isKindOfClass:[NSData class]] || weights == nil) return false;
  NSArray* entries = [weights allValues];
  for (NSUInteger i = 0; i < [entries count]; ++i)
    if ([[entries objectAtIndex:i] count] == 0) return false;
  return true;
}

static id make(id class, NSData* text, NSDictionary* weights, NSData* options, bool is_mil) {
  if (!is_acceptable(text, weights)) return nil;
  NSString* text_hash = hash_of(text);
  NSString* weight_hash = weights_hash(weights);
  StandinDescriptor* one = NSAllocateObject(class, 0, NULL);
  STANDIN_COUNT(descriptors_alive, 1);
  one->text = [text copy];
  one->weights = [weights retain];
  one->options = [options copy];
  one->is_mil = is_mil;
  one->text_hash = [text_hash retain];
  one->weights_hash = [weight_hash retain];
  one->options_hash = [hash_of(options) retain];
  one->identifier =
      [[NSString alloc] initWithFormat:@"%@_%@_%@", one->text_hash, one->weights_hash, one->options_hash];
  one->file_hashes = [file_hashes(one) retain];
  return one;
}

static id with_mil(id self, SEL cmd, NSData* text, NSDictionary* weights, NSData* options) {
  standin_enter(cmd);
  return [make(self, text, weights, options, true) autorelease];
}
static id with_network(id self, SEL cmd, NSData* text, NSDictionary* weights, NSData* options) {
  standin_enter(cmd);
  return [make(self, text, weights, options, false) autorelease];
}
static id init_with_text(StandinDescriptor* self, SEL cmd, NSData* text, NSDictionary* weights,
                         NSData* options, bool is_mil) {
  standin_enter(cmd);
  id made = make(object_getClass(self), text, weights, options, is_mil);
  STANDIN_COUNT(descriptors_alive, 1);  // of self, which dealloc takes off again
  [self release];
  return made;
}

#define GETTER(name, field)                          \
  static id name(StandinDescriptor* self, SEL cmd) { \
    (void)cmd;                                       \
    return self->field;                              \
  }
GETTER(get_text, text)
GETTER(get_weights, weights)
GETTER(get_options, options)
GETTER(get_text_hash, text_hash)
GETTER(get_weights_hash, weights_hash)
GETTER(get_options_hash, options_hash)
GETTER(get_file_hashes, file_hashes)

static id get_identifier(StandinDescriptor* self, SEL cmd) {
  standin_enter(cmd);
  return self->identifier;
}
static bool get_is_mil(StandinDescriptor* self, SEL cmd) {
  (void)cmd;
  return self->is_mil;
}
static uint64_t get_hash(StandinDescriptor* self, SEL cmd) {
  (void)cmd;
  return [self->identifier hash];
}
static bool is_equal(StandinDescriptor* self, SEL cmd, id other) {
  (void)cmd;
  return [other isKindOfClass:[StandinDescriptor class]] &&
         [self->identifier isEqualToString:((StandinDescriptor*)other)->identifier];
}
static id init_nil(id self, SEL cmd) {
  STANDIN_COUNT(descriptors_alive, 1);  // of self, which dealloc takes off again
  return standin_nil(self, cmd);
}

- (void)dealloc {
  [text release];
  [weights release];
  [options release];
  [text_hash release];
  [weights_hash release];
  [options_hash release];
  [identifier release];
  [file_hashes release];
  STANDIN_COUNT(descriptors_alive, -1);
  [super dealloc];
}

+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {"modelWithMILText:weights:optionsPlist:", "@40@0:8@16@24@32", (IMP)with_mil, STANDIN_CLASS},
      {"modelWithNetworkDescription:weights:optionsPlist:", "@40@0:8@16@24@32", (IMP)with_network,
       STANDIN_CLASS},
      {"initWithNetworkText:weights:optionsPlist:isMILModel:", "@44@0:8@16@24@32B40", (IMP)init_with_text,
       STANDIN_INSTANCE},
      {"new", "@16@0:8", (IMP)standin_nil, STANDIN_CLASS},
      {"init", "@16@0:8", (IMP)init_nil, STANDIN_INSTANCE},
      {"hexStringIdentifier", "@16@0:8", (IMP)get_identifier, STANDIN_INSTANCE},
      {"networkText", "@16@0:8", (IMP)get_text, STANDIN_INSTANCE},
      {"weights", "@16@0:8", (IMP)get_weights, STANDIN_INSTANCE},
      {"optionsPlist", "@16@0:8", (IMP)get_options, STANDIN_INSTANCE},
      {"networkTextHash", "@16@0:8", (IMP)get_text_hash, STANDIN_INSTANCE},
      {"weightsHash", "@16@0:8", (IMP)get_weights_hash, STANDIN_INSTANCE},
      {"optionsPlistHash", "@16@0:8", (IMP)get_options_hash, STANDIN_INSTANCE},
      {"perFileHashes", "@16@0:8", (IMP)get_file_hashes, STANDIN_SINCE_27},
      {"isMILModel", "B16@0:8", (IMP)get_is_mil, STANDIN_INSTANCE},
      {"hash", "Q16@0:8", (IMP)get_hash, STANDIN_INSTANCE},
      {"isEqual:", "B24@0:8@16", (IMP)is_equal, STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANEInMemoryModelDescriptor", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
