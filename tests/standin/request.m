// _ANERequest: holds what it was made of, strongly and uncopied. What it holds is looked at by -validate,
// which the evaluate calls ask first. A completion handler is kept and never called: the double evaluates at
// once.
#import "request.h"

#import "publish.h"

enum { kBuffersMax = 255, kIndexMax = 254, kProcedureMax = 128, kEventsMax = 64, kStatsTypeMax = 2 };

static bool indices_are_valid(NSArray* buffers, NSArray* indices) {
  if ([buffers count] == 0 || [buffers count] > kBuffersMax || [buffers count] != [indices count])
    return false;
  for (NSUInteger i = 0; i < [indices count]; ++i)
    if ([[indices objectAtIndex:i] unsignedLongValue] > kIndexMax) return false;
  return true;
}

// System 27 asks the stats for their -count: anything but an array raises.
static bool stats_are_valid(id stats) {
  if (stats == nil || (standin_system() < 27 && ![stats isKindOfClass:[NSArray class]])) return true;
  unsigned seen = 0;
  for (NSUInteger i = 0; i < [stats count]; ++i) {
    id one = [stats objectAtIndex:i];
    if (![one respondsToSelector:sel_registerName("statType")]) continue;
    const int type = (int)(intptr_t)[one performSelector:sel_registerName("statType")];
    if (type < 0 || type > kStatsTypeMax || (seen & (1u << type)) != 0) return false;
    seen |= 1u << type;
  }
  return true;
}

static bool events_are_valid(id events) {
  static const char* const kSides[] = {"waitEvents", "signalEvents"};
  for (size_t i = 0; events != nil && i < 2; ++i) {
    SEL side = sel_registerName(kSides[i]);
    if ([events respondsToSelector:side] && [[events performSelector:side] count] > kEventsMax) return false;
  }
  return true;
}

bool standin_request_is_valid(StandinRequest* self) {
  return indices_are_valid(self->inputs, self->input_indices) &&
         indices_are_valid(self->outputs, self->output_indices) &&
         [self->procedure_index unsignedLongValue] <= kProcedureMax && stats_are_valid(self->perf_stats) &&
         events_are_valid(self->shared_events);
}

@implementation StandinRequest
static id make(id class, NSArray* in, NSArray* in_at, NSArray* out, NSArray* out_at, id weights, id stats,
               id procedure, id events, id transaction) {
  StandinRequest* one = NSAllocateObject(class, 0, NULL);
  one->inputs = [in retain];
  one->input_indices = [in_at retain];
  one->outputs = [out retain];
  one->output_indices = [out_at retain];
  one->weights_buffer = [weights retain];
  one->perf_stats = [stats retain];
  one->procedure_index = [procedure retain];
  one->shared_events = [events retain];
  one->transaction = [transaction retain];
  STANDIN_COUNT(requests_alive, 1);
  return [one autorelease];
}

static id plain(id self, SEL cmd, id in, id in_at, id out, id out_at, id procedure) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, nil, nil, procedure, nil, nil);
}
static id with_stats(id self, SEL cmd, id in, id in_at, id out, id out_at, id stats, id procedure) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, nil, stats, procedure, nil, nil);
}
static id with_weights(id self, SEL cmd, id in, id in_at, id out, id out_at, id weights, id procedure) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, weights, nil, procedure, nil, nil);
}
static id with_both(id self, SEL cmd, id in, id in_at, id out, id out_at, id weights, id stats,
                    id procedure) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, weights, stats, procedure, nil, nil);
}
static id with_events(id self, SEL cmd, id in, id in_at, id out, id out_at, id weights, id stats,
                      id procedure, id events) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, weights, stats, procedure, events, nil);
}
static id with_all(id self, SEL cmd, id in, id in_at, id out, id out_at, id weights, id stats, id procedure,
                   id events, id transaction) {
  standin_enter(cmd);
  return make(self, in, in_at, out, out_at, weights, stats, procedure, events, transaction);
}

static bool validate(StandinRequest* self, SEL cmd) {
  standin_enter(cmd);
  return standin_request_is_valid(self);
}
static void set_completion(StandinRequest* self, SEL cmd, void* block) {
  standin_enter(cmd);
  self->completion = block;
}

#define GETTER(name, field)                       \
  static id name(StandinRequest* self, SEL cmd) { \
    (void)cmd;                                    \
    return self->field;                           \
  }
GETTER(get_inputs, inputs)
GETTER(get_input_indices, input_indices)
GETTER(get_outputs, outputs)
GETTER(get_output_indices, output_indices)
GETTER(get_weights, weights_buffer)
GETTER(get_stats, perf_stats)
GETTER(get_procedure, procedure_index)
GETTER(get_events, shared_events)

- (void)dealloc {
  [inputs release];
  [input_indices release];
  [outputs release];
  [output_indices release];
  [weights_buffer release];
  [perf_stats release];
  [procedure_index release];
  [shared_events release];
  [transaction release];
  STANDIN_COUNT(requests_alive, -1);
  [super dealloc];
}

#define BUFFERS "requestWithInputs:inputIndices:outputs:outputIndices:"
+ (void)load {
  static const struct StandinMethod kMethods[] = {
      {BUFFERS "procedureIndex:", "@56@0:8@16@24@32@40@48", (IMP)plain, STANDIN_CLASS},
      {BUFFERS "perfStats:procedureIndex:", "@64@0:8@16@24@32@40@48@56", (IMP)with_stats, STANDIN_CLASS},
      {BUFFERS "weightsBuffer:procedureIndex:", "@64@0:8@16@24@32@40@48@56", (IMP)with_weights,
       STANDIN_CLASS},
      {BUFFERS "weightsBuffer:perfStats:procedureIndex:", "@72@0:8@16@24@32@40@48@56@64", (IMP)with_both,
       STANDIN_CLASS},
      {BUFFERS "weightsBuffer:perfStats:procedureIndex:sharedEvents:", "@80@0:8@16@24@32@40@48@56@64@72",
       (IMP)with_events, STANDIN_CLASS},
      {BUFFERS "weightsBuffer:perfStats:procedureIndex:sharedEvents:transactionHandle:",
       "@88@0:8@16@24@32@40@48@56@64@72@80", (IMP)with_all, STANDIN_CLASS},
      {"validate", "B16@0:8", (IMP)validate, STANDIN_INSTANCE},
      {"setCompletionHandler:", "v24@0:8@?16", (IMP)set_completion, STANDIN_INSTANCE},
      {"inputArray", "@16@0:8", (IMP)get_inputs, STANDIN_INSTANCE},
      {"inputIndexArray", "@16@0:8", (IMP)get_input_indices, STANDIN_INSTANCE},
      {"outputArray", "@16@0:8", (IMP)get_outputs, STANDIN_INSTANCE},
      {"outputIndexArray", "@16@0:8", (IMP)get_output_indices, STANDIN_INSTANCE},
      {"weightsBuffer", "@16@0:8", (IMP)get_weights, STANDIN_INSTANCE},
      {"perfStatsArray", "@16@0:8", (IMP)get_stats, STANDIN_INSTANCE},
      {"procedureIndex", "@16@0:8", (IMP)get_procedure, STANDIN_INSTANCE},
      {"sharedEvents", "@16@0:8", (IMP)get_events, STANDIN_INSTANCE},
  };
  standin_publish(self, "_ANERequest", kMethods, sizeof(kMethods) / sizeof(kMethods[0]));
}
@end
