// One row for each outcome: domain, code and text of system 26, code and text of 27, the status under it.
// 27 writes "<method>: <text> (underlying=0x…)" and puts stage and status into the user info.
#import "errors.h"

struct Row {
  enum StandinOutcome outcome;
  bool compiler;
  long code26;
  const char* text26;
  long code27;
  const char* text27;
  unsigned underlying;
};

static const struct Row kRows[] = {
    {STANDIN_NO_IDENTITY, false, 7, "Missing code signing identity", 7, "missing code signing identity", 0},
    {STANDIN_INVALID_MODEL, false, 10, "Invalid model", 10, "verifyBundleAtPath: invalid model", 0xa},
    {STANDIN_INVALID_MIL, true, 1, "InvalidMILProgram", 1, "InvalidMILProgram", 0},
    {STANDIN_COMPILATION_FAILURE, true, 1, "CompilationFailure", 1, "CompilationFailure", 0},
    {STANDIN_INVALID_SOURCE, true, 1, "InvalidCompilationParam", 1, "InvalidCompilationParam", 0},
    {STANDIN_FILE_ACCESS, false, 9, "File access error", 9, "file access error", 0x9},
    {STANDIN_FILE_NOT_FOUND, false, 16, "File not found", 16, "file not found", 0x10},
    {STANDIN_NO_RESOURCES, false, 6, "Program load failure (0x5)", 54,
     "program load failure: no ANE resources available, transient, retry", 0x5},
    {STANDIN_BAD_IMAGE, false, 4, "Program creation failure", 6, "program load failure: bad program image",
     0x3},
    {STANDIN_PROGRAM_GONE, false, 8,
     "ANEProgramProcessRequestDirect() Failed with status=0xe : statusType=0x9", 23, "program not found",
     0xe},
    {STANDIN_SMALL_SURFACE, false, 8,
     "ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9", 42,
     "inference failed: IOSurface is smaller than the model expects", 0x1d},
    {STANDIN_BAD_INDEX, false, 8, "ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9",
     8, "ANEProgramProcessRequestDirect() Failed with status=0x1d : statusType=0x9", 0x1d},
    {STANDIN_NEEDS_ENTITLEMENT, false, 1,
     "Needs a restricted connection and the entitlement com.apple.aned.private.allow", 1,
     "operation not permitted (check entitlements): com.apple.aned.private.allow", 0x1},
    {STANDIN_MAP_REFUSED, false, 13, "IOSurfaces map failure (0x12)", 13, "IOSurfaces map failure", 0x12},
    {STANDIN_CHAINING_REFUSED, false, 15, "Chaining prepare failed", 15, "chaining prepare failed", 0xf},
    {STANDIN_UNSUPPORTED, false, 25, "Unsupported", 25, "unsupported", 0x19},
};

static NSError* make_error(NSString* domain, long code, NSString* text, NSError* below, int stage,
                           unsigned status) {
  NSMutableDictionary* info = [NSMutableDictionary dictionaryWithObject:text
                                                                 forKey:NSLocalizedDescriptionKey];
  if (below != nil) {
    [info setObject:below forKey:@"NSUnderlyingError"];  // the key's text in Apple's Foundation
    [info setObject:below forKey:NSUnderlyingErrorKey];  // and gnustep's, which is another
  }
  if (stage >= 0) {
    [info setObject:[NSNumber numberWithInt:stage] forKey:@"_ANEErrorLoadStage"];
    [info setObject:[NSNumber numberWithUnsignedInt:status] forKey:@"_ANEErrorUnderlyingStatus"];
  }
  return [NSError errorWithDomain:domain code:code userInfo:info];
}

static NSError* error_of_row(const struct Row* row, SEL method, NSString* path) {
  if (row->compiler) {
    NSString* domain = @"com.apple.appleneuralengine.compiler";
    NSString* below = [NSString stringWithFormat:@"ANECCompile(%@) FAILED: err=(%s)", path, row->text26];
    return make_error(domain, 1, @"_ANECompiler : ANECCompile() FAILED",
                      make_error(domain, 1, below, nil, -1, 0), -1, 0);
  }
  NSString* domain = @"com.apple.appleneuralengine";
  const char* name = sel_getName(method);
  if (standin_system() < 27)
    return make_error(domain, row->code26, [NSString stringWithFormat:@"%s: %s", name, row->text26], nil, -1,
                      0);
  return make_error(
      domain, row->code27,
      [NSString stringWithFormat:@"%s: %s (underlying=0x%x)", name, row->text27, row->underlying], nil,
      row -> outcome == STANDIN_NO_RESOURCES || row -> outcome == STANDIN_BAD_IMAGE ? 2 : 1,
      row -> underlying);
}

bool standin_fail(enum StandinOutcome outcome, SEL method, NSString* path, NSError** error) {
  if (error == NULL) return false;
  for (size_t i = 0; i < sizeof(kRows) / sizeof(kRows[0]); ++i)
    if (kRows[i].outcome == outcome) *error = error_of_row(&kRows[i], method, path);
  return false;
}

bool standin_planned_failure(const char* knob, NSError** error) {
  struct StandinFault fault;
  if (!standin_fault(knob, &fault)) return false;
  if (!fault.nil_error && error != NULL)
    *error = make_error([NSString stringWithUTF8String:fault.domain], fault.code,
                        [NSString stringWithUTF8String:fault.text], nil, -1, 0);
  return true;
}
