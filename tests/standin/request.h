// _ANERequest.
#import <Foundation/Foundation.h>

@interface StandinRequest : NSObject {
 @public
  NSArray *inputs, *input_indices, *outputs, *output_indices;
  id weights_buffer, perf_stats, procedure_index, shared_events, transaction;
  void* completion;
}
@end

bool standin_request_is_valid(StandinRequest* request);
