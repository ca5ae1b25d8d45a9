// modelAttributes of a loaded program: symbols in the byte order of their MIL names, one procedure, 64-byte
// rows. Knob `attributes` spoils it for callers that do not check what they read.
#import "model.h"
#import "publish.h"

static NSMutableArray* list(void) {
  return [NSMutableArray array];
}
static NSNumber* number(uint64_t value) {
  return [NSNumber numberWithUnsignedLongLong:value];
}

// An output's symbol is its MIL name and "@output".
static NSString* symbol_of(const struct StandinPort* port, bool output) {
  return [NSString stringWithFormat:@"%s%s", port->name, output ? "@output" : ""];
}

// Axis of N, C, D, H, W that axis i of a port of this rank is; missing leading axes are 1.
enum { kBatch, kChannel, kDepth, kHeight, kWidth, kAxes };
static int axis_of(size_t rank, size_t i) {
  static const int kFour[] = {kBatch, kChannel, kHeight, kWidth};
  return rank == 5 ? (int)i : kFour[4 - rank + i];
}

static NSDictionary* live_port(const struct StandinPort* port, bool output) {
  uint64_t dims[kAxes] = {1, 1, 1, 1, 1}, strides[kAxes] = {0};
  for (size_t i = 0; i < port->rank; ++i) {
    dims[axis_of(port->rank, i)] = port->dims[i];
    strides[axis_of(port->rank, i)] = port->strides[i];
  }
  const bool zero = standin_knob_lists("attributes", "zero_strides");
  const uint64_t row = port->rank >= 2 ? strides[kHeight] : port->bytes;
  const uint64_t plane = port->rank >= 3 ? strides[kChannel] : port->bytes;
  const uint64_t depth = port->rank == 5 ? strides[kDepth] : plane;
  const uint64_t batch = port->rank >= 4 ? strides[kBatch] : port->bytes;
  NSMutableDictionary* out = [NSMutableDictionary dictionary];
  [out setObject:symbol_of(port, output) forKey:@"Name"];
  [out setObject:symbol_of(port, output) forKey:@"Symbol"];
  [out setObject:[NSString stringWithUTF8String:port->type] forKey:@"Type"];
  [out setObject:number(dims[kBatch]) forKey:@"Batches"];
  [out setObject:number(dims[kChannel]) forKey:@"Channels"];
  [out setObject:number(dims[kDepth]) forKey:@"Depth"];
  [out setObject:number(dims[kHeight]) forKey:@"Height"];
  [out setObject:number(dims[kWidth]) forKey:@"Width"];
  [out setObject:number(zero ? 0 : row) forKey:@"RowStride"];
  [out setObject:number(zero ? 0 : plane) forKey:@"PlaneStride"];
  [out setObject:number(zero ? 0 : depth) forKey:@"DepthStride"];
  [out setObject:number(zero ? 0 : batch) forKey:@"BatchStride"];
  [out setObject:number(1) forKey:@"Interleave"];
  return out;
}

struct Side {
  NSMutableArray *symbols, *indices, *alignment, *live;
};

static struct Side side_of(const struct StandinProgram* program, bool output) {
  struct Side side = {list(), list(), list(), list()};
  for (size_t i = 0; i < standin_program_ports(program, output); ++i) {
    const struct StandinPort port = standin_program_port(program, output, i);
    [side.symbols addObject:symbol_of(&port, output)];
    [side.indices addObject:number(i)];
    [side.alignment addObject:number(0)];
    [side.live addObject:live_port(&port, output)];
  }
  return side;
}

// A copy in which every entry under a key that the knob names is gone, or a string.
static id spoiled(id value) {
  if ([value isKindOfClass:[NSArray class]]) {
    NSMutableArray* copy = list();
    for (NSUInteger i = 0; i < [value count]; ++i) [copy addObject:spoiled([value objectAtIndex:i])];
    return copy;
  }
  if (![value isKindOfClass:[NSDictionary class]]) return value;
  NSMutableDictionary* copy = [NSMutableDictionary dictionary];
  NSArray* keys = [value allKeys];
  for (NSUInteger i = 0; i < [keys count]; ++i) {
    NSString* key = [keys objectAtIndex:i];
    char item[256];
    snprintf(item, sizeof(item), "drop:%s", [key UTF8String]);
    if (standin_knob_lists("attributes", item)) continue;
    snprintf(item, sizeof(item), "string:%s", [key UTF8String]);
    const bool text = standin_knob_lists("attributes", item);
    [copy setObject:text ? (id) @"spoiled" : spoiled([value objectForKey:key]) forKey:key];
  }
  return copy;
}

NSDictionary* standin_attributes(const struct StandinProgram* program) {
  const struct Side in = side_of(program, false), out = side_of(program, true);
  NSString* function = [NSString stringWithUTF8String:standin_program_function(program)];

  NSMutableDictionary* procedure = [NSMutableDictionary dictionary];
  [procedure setObject:number(0) forKey:@"ANEFModelProcedureID"];
  [procedure setObject:in.indices forKey:@"ANEFModelInputSymbolIndexArray"];
  [procedure setObject:out.indices forKey:@"ANEFModelOutputSymbolIndexArray"];

  NSMutableDictionary* description = [NSMutableDictionary dictionary];
  [description setObject:in.symbols forKey:@"kANEFModelInputSymbolsArrayKey"];
  [description setObject:out.symbols forKey:@"kANEFModelOutputSymbolsArrayKey"];
  [description setObject:[NSDictionary dictionaryWithObject:number(0) forKey:function]
                  forKey:@"kANEFModelProcedureNameToIDMapKey"];
  [description setObject:[NSArray arrayWithObject:procedure] forKey:@"ANEFModelProcedures"];
  [description setObject:in.alignment forKey:@"ANEFModelInput16KAlignmentArray"];
  [description setObject:out.alignment forKey:@"ANEFModelOutput16KAlignmentArray"];

  NSMutableDictionary* status = [NSMutableDictionary dictionary];
  [status setObject:function forKey:@"Name"];
  [status setObject:in.live forKey:@"LiveInputList"];
  [status setObject:out.live forKey:@"LiveOutputList"];
  [status setObject:list() forKey:@"LiveStateList"];
  [status setObject:list() forKey:@"LiveInputParamList"];

  NSMutableDictionary* all = [NSMutableDictionary dictionary];
  [all setObject:description forKey:@"ANEFModelDescription"];
  [all setObject:[NSArray arrayWithObject:status] forKey:@"NetworkStatusList"];
  return spoiled(all);
}
