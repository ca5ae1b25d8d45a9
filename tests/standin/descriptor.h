// _ANEInMemoryModelDescriptor.
#import <Foundation/Foundation.h>

@interface StandinDescriptor : NSObject {
 @public
  NSData *text, *options;
  NSDictionary* weights;
  NSString *text_hash, *weights_hash, *options_hash, *identifier;
  NSDictionary* file_hashes;  // relative path → hex; model.mil too
  bool is_mil;
}
@end

// The value that the original takes of a weights entry: that of the first key.
NSString* standin_first_key(NSDictionary* entry);
